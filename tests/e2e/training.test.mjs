// The main road: a bare data dir, the first training, real MNIST to the reference's figures, events, predictions.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { Daemon, reference, until } from './program.mjs';

const within = (value, expected, tolerance, what) =>
  assert.ok(Math.abs(value - expected) <= tolerance, `${what}: ${value}, expected ${expected} ± ${tolerance}`);

const referenceRows = readFileSync(join(reference, 'mnist-linear-300-lr0.01.csv'), 'utf8')
  .split('\n')
  .filter((line) => /^\d/.test(line))
  .map((line) => line.split(',').map(Number));

test('the first start trains, and every row agrees with float64', async (t) => {
  const daemon = await Daemon.start(t);
  const [first] = (await daemon.json('/v1/jobs')).items;
  assert.equal(first.spec.iterations, 300);
  assert.equal(first.spec.learning_rate, 0.01);

  // Followed live with the shell's form of the event stream: every event once and in order.
  const events = (await daemon.text(`/v1/jobs/${first.id}/events?format=ndjson`)).trim().split('\n').map((line) => JSON.parse(line));
  const job = await daemon.job(first.id);
  assert.equal(job.state, 'succeeded');
  const rows = (await daemon.json(`/v1/jobs/${first.id}/metrics`)).rows;
  assert.deepEqual(rows.map((row) => row[0]), Array.from({ length: 300 }, (_, i) => i + 1));
  assert.equal(events.length, 300 + 4, 'queued, running, 300 rows, succeeded, end');

  for (const [iteration, loss, trainCorrect, testCorrect] of referenceRows) {
    const [, rowLoss, trainAccuracy, testAccuracy] = rows[iteration - 1];
    within(rowLoss, loss, loss * 1e-5, `loss of ${iteration}`);
    within(trainAccuracy * 60000, trainCorrect, 5.001, `train correct of ${iteration}`);
    within(testAccuracy * 10000, testCorrect, 5.001, `test correct of ${iteration}`);
  }
  within(job.result.loss, 0.420517408, 0.4205e-5, 'final loss');
  within(job.result.train_correct, 50875, 5, 'final train');
  within(job.result.test_correct, 8550, 5, 'final test');
  within(job.result.ms_per_iteration, job.result.train_ms / 300, 1e-9, 'ms an iteration');

  const prediction = await daemon.json('/predict?dataset=mnist&split=test&index=0');
  assert.equal(prediction.label, 7);
  assert.equal(prediction.truth, 7);
  assert.equal(prediction.model_id, job.result.model_id);

  const picture = readFileSync(join(reference, 'digit-test-0.txt'), 'utf8');
  assert.equal((await daemon.text('/v1/datasets/mnist/test/0.txt')).trimEnd(), picture.trimEnd());
  const plain = await daemon.text('/predict?dataset=mnist&split=test&index=0', { headers: { accept: 'text/plain' } });
  assert.ok(plain.includes(picture.trimEnd().split('\n').slice(4).join('\n')), 'the picture is in the text form');

  // Scores against W and b as anybody would compute them, from the weights that are handed out.
  const tensors = await daemon.tensors(job.result.model_id);
  const header = Buffer.from(await (await daemon.fetch(`/v1/models/${job.result.model_id}/weights`)).arrayBuffer());
  const layout = JSON.parse(header.subarray(8, 8 + Number(header.readBigUInt64LE(0))));
  const tensor = (name) => {
    const [begin, end] = layout[name].data_offsets;
    return Array.from({ length: (end - begin) / 4 }, (_, i) => tensors.readFloatLE(begin + 4 * i));
  };
  const [weight, bias] = [tensor('weight'), tensor('bias')];
  const image = await daemon.json('/v1/datasets/mnist/test/0');
  const pixels = image.pixels ?? image.image;
  assert.equal(pixels.length, 784);
  prediction.scores.forEach((score, digit) => {
    const exact = pixels.reduce((sum, pixel, i) => sum + (weight[digit * 784 + i] * pixel) / 255, bias[digit]);
    within(score, exact, 1e-5, `score of ${digit}`);
  });
});

test('a job is followed by Server-Sent Events, resumed in the middle, and cancelled', async (t) => {
  const daemon = await Daemon.start(t, ['--no-first-training']);
  assert.equal((await daemon.fetch('/predict?dataset=mnist&split=test&index=0')).status, 409);
  const job = await daemon.submit({ iterations: 100000, report_every: 1 });
  await until('iteration 20', async () => (await daemon.job(job.id)).progress.iteration >= 20);

  const stopped = Date.now();
  const cancelled = await daemon.fetch(`/v1/jobs/${job.id}`, { method: 'DELETE' });
  assert.ok([200, 202].includes(cancelled.status));
  const ended = await daemon.ended_job(job.id, 10);
  assert.equal(ended.state, 'cancelled');
  assert.ok(Date.now() - stopped < 3000, 'cancelling takes an iteration, not the job');

  const parse = (text) => text.split('\n\n').filter((block) => /^id:/m.test(block)).map((block) => /^id: ?(.*)$/m.exec(block)[1]);
  const all = parse(await daemon.text(`/v1/jobs/${job.id}/events`));
  const last = ended.progress.iteration;
  assert.deepEqual(all, ['0-queued', '0-running', ...Array.from({ length: last }, (_, i) => `${i + 1}`), `${last}-cancelled`, `${last}-end`]);
  const rest = parse(await daemon.text(`/v1/jobs/${job.id}/events`, { headers: { 'last-event-id': '10' } }));
  assert.deepEqual(rest, all.slice(all.indexOf('10') + 1));
  assert.equal((await daemon.fetch(`/v1/jobs/${job.id}`, { method: 'DELETE' })).status, 200);
});
