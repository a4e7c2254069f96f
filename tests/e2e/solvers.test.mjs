// The gram solver, automatic rates, the stability limit and predicted curves, on real MNIST through the program.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { Daemon, reference, until } from './program.mjs';

const limit = 0.0256327; // 1/39.0126174, λmax of XᵀX/n
const close = (found, expected, tolerance, what) =>
  assert.ok(Math.abs(found - expected) <= tolerance * Math.abs(expected), `${what}: ${found}, expected ${expected} within ${tolerance}`);

const referenceLosses = readFileSync(join(reference, 'mnist-linear-300-lr0.01.csv'), 'utf8')
  .split('\n')
  .filter((line) => /^\d/.test(line))
  .map((line) => line.split(',').map(Number));

async function limitOf(daemon) {
  let found = null;
  await until('the stability limit', async () => (found = (await daemon.json('/v1/datasets/mnist')).stability_limit) !== null, 60);
  return found;
}

test('a bare start works the limit out, predicts the reference, and a gram job follows it', async (t) => {
  const daemon = await Daemon.start(t, ['--no-first-training']);
  close(await limitOf(daemon), limit, 1e-5, 'stability limit');

  const curve = await daemon.json('/v1/datasets/mnist/curve?iterations=300');
  assert.equal(curve.rows.length, 300);
  for (const [iteration, loss] of referenceLosses) close(curve.rows[iteration - 1][1], loss, 1e-6, `predicted loss of ${iteration}`);

  const { id } = await daemon.submit({ iterations: 300, solver: 'gram', report_every: 10 });
  const job = await daemon.ended_job(id);
  assert.equal(job.state, 'succeeded', JSON.stringify(job));
  close(job.result.loss, 0.420517408, 1e-5, 'final loss');
  assert.ok(Math.abs(job.result.train_correct - 50875) <= 5 && Math.abs(job.result.test_correct - 8550) <= 5, JSON.stringify(job.result));
  for (const [iteration, loss] of (await daemon.json(`/v1/jobs/${id}/metrics`)).rows) close(loss, curve.rows[iteration - 1][1], 1e-5, `loss of ${iteration}`);

  // The files that a later start reads; one that is cut short is made again.
  const cache = join(daemon.dataDir, 'cache');
  await until('both files', () => readdirSync(cache).filter((name) => /\.(gram|spectrum)$/.test(name)).length === 2, 30);
  assert.deepEqual(await daemon.stop(), { code: 0, signal: null });
  const gram = join(cache, readdirSync(cache).find((name) => name.endsWith('.gram')));
  const size = statSync(gram).size;
  truncateSync(gram, 1000);
  const second = await Daemon.start(t, ['--no-first-training'], daemon.dataDir);
  close((await second.json('/v1/datasets/mnist')).stability_limit, limit, 1e-5, 'known at once');
  await until('the file to be whole again', () => statSync(gram).size === size, 60);
  assert.match(second.log, /\.gram holds 1000 bytes; expected \d+; it is made again/);
});

test('an automatic rate at once after a bare start; a rate above the limit is warned of and fails by name', async (t) => {
  const daemon = await Daemon.start(t, ['--no-first-training']);
  const automatic = await daemon.submit({ iterations: 20, learning_rate: 'auto', solver: 'gram', report_every: 20 });
  close(automatic.spec.learning_rate, limit / 2, 1e-5, 'automatic rate');
  assert.deepEqual(automatic.warnings, []);
  assert.equal((await daemon.ended_job(automatic.id)).state, 'succeeded');
  for (const solver of ['gemm', 'gram']) {
    const job = await daemon.submit({ iterations: 1000, learning_rate: 0.05, solver, report_every: 1000 });
    assert.match(job.warnings[0], /learning rate 0\.05 is above the stability limit of mnist, 0\.0256327/);
    const failed = await daemon.ended_job(job.id);
    assert.equal(failed.state, 'failed');
    assert.equal(failed.error.code, 'diverged');
    assert.match(failed.error.message, new RegExp(`at iteration ${failed.progress.iteration} with learning rate 0\\.05; use a smaller learning rate, below 0\\.0256327, the stability limit of mnist`));
    assert.deepEqual(failed.warnings, job.warnings);
  }
});

test('a gram job that is killed goes on to the same weights, bit for bit', async (t) => {
  const spec = { iterations: 100000, solver: 'gram', report_every: 1000 };
  const undisturbed = await Daemon.start(t, ['--no-first-training']);
  const expected = await undisturbed.submit(spec);
  const killed = await Daemon.start(t, ['--no-first-training']);
  const { id } = await killed.submit(spec);
  await until('a report', async () => (await killed.job(id)).progress.iteration >= 2000, 120);
  await killed.stop('SIGKILL');
  const second = await Daemon.start(t, ['--no-first-training'], killed.dataDir);
  const ended = await second.ended_job(id, 300);
  assert.equal(ended.state, 'succeeded');
  assert.equal((await undisturbed.ended_job(expected.id, 300)).result.loss, ended.result.loss);
  assert.ok((await second.tensors(id)).equals(await undisturbed.tensors(expected.id)));
});
