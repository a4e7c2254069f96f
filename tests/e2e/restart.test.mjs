// A daemon that is stopped or killed in the middle of a job goes on where it was and ends with the same weights.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Daemon, until } from './program.mjs';

const iterations = 400;

async function undisturbed(t) {
  const daemon = await Daemon.start(t, ['--no-first-training']);
  const job = await daemon.submit({ iterations, name: 'undisturbed' });
  const ended = await daemon.ended_job(job.id);
  const result = { tensors: await daemon.tensors(job.id), loss: ended.result.loss, rows: (await daemon.json(`/v1/jobs/${job.id}/metrics`)).rows };
  assert.deepEqual(await daemon.stop(), { code: 0, signal: null });
  return result;
}

test('SIGTERM and kill -9 in mid-job lose nothing', async (t) => {
  const expected = await undisturbed(t);
  for (const signal of ['SIGTERM', 'SIGKILL']) {
    const first = await Daemon.start(t, ['--no-first-training']);
    const { id } = await first.submit({ iterations, name: signal });
    const waiting = await first.submit({ iterations: 1 });
    await until('iteration 100', async () => (await first.job(id)).progress.iteration >= 100);
    const started = (await first.job(id)).started_at;
    const asked = Date.now();
    const exit = await first.stop(signal);
    if (signal === 'SIGTERM') {
      assert.deepEqual(exit, { code: 0, signal: null }, first.log);
      assert.ok(Date.now() - asked < 10000, 'drains within 10 s');
    }
    const second = await Daemon.start(t, ['--no-first-training'], first.dataDir);
    const ended = await second.ended_job(id);
    assert.equal(ended.state, 'succeeded');
    assert.equal(ended.started_at, started);
    assert.equal(ended.result.loss, expected.loss, `loss after ${signal}, to the bit`);
    assert.ok((await second.tensors(id)).equals(expected.tensors), `weights after ${signal}, to the bit`);
    const rows = (await second.json(`/v1/jobs/${id}/metrics`)).rows;
    assert.deepEqual(rows.map((row) => row.slice(0, 4)), expected.rows.map((row) => row.slice(0, 4)), 'every row, once');
    assert.equal((await second.ended_job(waiting.id)).state, 'succeeded', 'the job that waited');

    await second.stop();
    const third = await Daemon.start(t, ['--no-first-training'], first.dataDir);
    assert.equal((await third.json('/v1/jobs')).items.length, 2);
    assert.equal((await third.json('/predict?dataset=mnist&split=test&index=0')).model_id, waiting.id, 'the newest serves');
    await third.stop();
  }
});

test('a client that follows across the restart resumes after the last event it saw', async (t) => {
  const first = await Daemon.start(t, ['--no-first-training']);
  const { id } = await first.submit({ iterations });
  const seen = [];
  const follow = async (daemon, after) => {
    const answer = await daemon.fetch(`/v1/jobs/${id}/events`, after ? { headers: { 'last-event-id': after } } : {});
    let text = '';
    try {
      for await (const bytes of answer.body) {
        text += Buffer.from(bytes).toString();
        for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) {
          const event = /^id: ?(.*)$/m.exec(text.slice(0, end));
          if (event) seen.push(event[1]);
        }
      }
    } catch {
      // the connection went with the daemon
    }
  };
  const following = follow(first);
  await until('iteration 100', async () => (await first.job(id)).progress.iteration >= 100);
  await first.stop('SIGKILL');
  await following;
  const second = await Daemon.start(t, ['--no-first-training'], first.dataDir);
  await follow(second, seen.at(-1));
  const progress = seen.filter((event) => /^\d+$/.test(event)).map(Number);
  assert.deepEqual(progress, Array.from({ length: iterations }, (_, i) => i + 1), 'every iteration once, in order');
  assert.equal(seen.at(-1), `${iterations}-end`);
});
