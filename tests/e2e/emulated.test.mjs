// The daemon with the HIP device, on the emulator: a small training job against float64, one that is cancelled, predictions.
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { Daemon, emulated, temporaryDirectory, until } from './program.mjs';

const kPixels = 784;
const seed = 1234567;
const skip = existsSync(emulated) ? false : `no ${emulated}: it is built where libboost-context-dev is`;

// xorshift32.
function randomNumbers(state) {
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

// Ten shapes of some ink each, and dirt.
function madeUpDigits(count, random, shapes) {
  const labels = Buffer.alloc(count);
  const pixels = Buffer.alloc(count * kPixels);
  for (let i = 0; i < count; i++) {
    labels[i] = Math.floor(random() * 10);
    for (let p = 0; p < kPixels; p++) {
      const drawn = shapes[labels[i]][p] ? 255 - Math.floor(random() * 100) : 0;
      pixels[i * kPixels + p] = random() < 0.05 ? Math.floor(random() * 256) : drawn;
    }
  }
  return { labels, pixels, count };
}

function writeSplit(directory, stem, { labels, pixels, count }) {
  const head = (...values) => {
    const bytes = Buffer.alloc(4 * values.length);
    values.forEach((value, i) => bytes.writeUInt32BE(value, 4 * i));
    return bytes;
  };
  writeFileSync(join(directory, `${stem}-images-idx3-ubyte`), Buffer.concat([head(0x803, count, 28, 28), pixels]));
  writeFileSync(join(directory, `${stem}-labels-idx1-ubyte`), Buffer.concat([head(0x801, count), labels]));
}

// Descent from the daemon's initial weights in float64: the loss and the number correct before each step, and at the end.
function descend({ labels, pixels, count }, iterations, rate) {
  const features = Array.from({ length: count }, (_, i) => [...Array.from(pixels.subarray(i * kPixels, (i + 1) * kPixels), (byte) => byte / 255), 1]);
  const weights = Array.from({ length: 10 }, (_, digit) =>
    Array.from({ length: kPixels + 1 }, (__, p) => {
      let s = (digit * (kPixels + 1) + p + seed) >>> 0;
      s = Math.imul(s ^ (s >>> 16), 0x85ebca6b);
      s = Math.imul(s ^ (s >>> 13), 0xc2b2ae35);
      s = (s ^ (s >>> 16)) >>> 0;
      return 0.01 * ((s >>> 8) / 2 ** 24 - 0.5);
    }));
  const rows = [];
  for (let k = 0; k <= iterations; k++) {
    let loss = 0;
    let correct = 0;
    const gradient = weights.map((row) => row.map(() => 0));
    features.forEach((image, i) => {
      const scores = weights.map((row) => row.reduce((sum, weight, p) => sum + weight * image[p], 0));
      if (scores.indexOf(Math.max(...scores)) === labels[i]) correct++;
      scores.forEach((score, digit) => {
        const residual = score - (labels[i] === digit ? 1 : 0);
        loss += (residual * residual) / count;
        image.forEach((value, p) => (gradient[digit][p] += ((2 * residual) / count) * value));
      });
    });
    rows.push({ loss, correct });
    weights.forEach((row, digit) => row.forEach((_, p) => (row[p] -= rate * gradient[digit][p])));
  }
  return rows;
}

const close = (found, expected, what) =>
  assert.ok(Math.abs(found - expected) <= 1e-5 * expected, `${what}: ${found}, float64 has ${expected}`);

test('a small training through the daemon on the emulated device', { skip }, async (t) => {
  const random = randomNumbers(8906);
  const shapes = Array.from({ length: 10 }, () => Array.from({ length: kPixels }, () => random() < 0.2));
  const train = madeUpDigits(300, random, shapes);
  const held = madeUpDigits(70, random, shapes);
  const directory = temporaryDirectory(t);
  writeSplit(directory, 'train', train);
  writeSplit(directory, 't10k', held);

  const args = ['--backend', 'hip', '--no-first-training', '--dataset', `small=${directory}`];
  const daemon = await Daemon.start(t, args, temporaryDirectory(t), emulated);
  const system = await daemon.json('/v1/system');
  assert.equal(system.device.backend, 'hip');
  assert.equal(system.device.architecture, 'emulator');

  const expected = descend(train, 10, 0.01);
  for (const solver of ['gemm', 'gram']) {
    const { id } = await daemon.submit({ dataset: 'small', iterations: 10, learning_rate: 0.01, solver });
    const job = await daemon.ended_job(id);
    assert.equal(job.state, 'succeeded', JSON.stringify(job));
    const { columns, rows } = await daemon.json(`/v1/jobs/${id}/metrics`);
    assert.deepEqual(columns.slice(0, 3), ['iteration', 'loss', 'train_accuracy']);
    assert.equal(rows.length, 10);
    rows.forEach(([iteration, loss, accuracy], i) => {
      assert.equal(iteration, i + 1);
      close(loss, expected[i].loss, `${solver}, iteration ${iteration}`);
      assert.equal(Math.round(accuracy * 300), expected[i].correct, `${solver}, correct at iteration ${iteration}`);
    });
    close(job.result.loss, expected[10].loss, `${solver}, result`);
  }

  const body = train.pixels.subarray(0, kPixels);
  const answer = await daemon.fetch('/v1/predict', { method: 'POST', body, headers: { 'Content-Type': 'application/octet-stream' } });
  assert.equal(answer.status, 200, await answer.text());

  const long = await daemon.submit({ dataset: 'small', iterations: 100000, learning_rate: 0.01 });
  await until('the long job to run', async () => (await daemon.job(long.id)).state === 'running');
  const asked = Date.now();
  assert.ok((await daemon.fetch(`/v1/jobs/${long.id}`, { method: 'DELETE' })).ok);
  assert.equal((await daemon.ended_job(long.id)).state, 'cancelled');
  assert.ok(Date.now() - asked < 10000, 'cancelled soon');
  assert.deepEqual(await daemon.stop(), { code: 0, signal: null }, daemon.log);
});
