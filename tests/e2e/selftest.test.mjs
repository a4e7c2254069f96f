// mnistd selftest: the page on a right device, and on one that computes one operation wrong.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import test from 'node:test';
import { besides, emulated, run } from './program.mjs';

const faulty = process.env.MNISTD_FAULTY ?? besides('mnistd_faulty');
const operations = ['initialise', 'scores', 'count_correct', 'residual', 'gradient', 'loss_and_gradient', 'step', 'gram', 'gram_descend'];

// The page's lines on operations: {operation, kernel, error, tolerance, time, verdict}.
const linesOf = (page) =>
  page.split('\n').flatMap((line) => {
    const found = /^([a-z_]+) +(\S+) +(\S+) +(\S+) +(\S+) +(ok|OFF)$/.exec(line);
    if (!found) return [];
    const [, operation, kernel, error, tolerance, time, verdict] = found;
    return [{ operation, kernel, error: Number(error), tolerance: Number(tolerance), time, verdict }];
  });
const lossesOf = (page) =>
  [...page.matchAll(/^(\d+|result) +(\d\.\d{9}) +(\d\.\d{9}) +(\S+) {2}(ok|OFF)$/gm)].map(([, iteration, loss, float64, , verdict]) => ({ iteration, loss: Number(loss), float64: Number(float64), verdict }));

function looksRight(page) {
  for (const name of ['System', 'Device', 'Backend', 'Architecture', 'Driver', 'Wavefront', 'Memory', 'Reason']) {
    assert.match(page, new RegExp(`^${name}: +\\S`, 'm'));
  }
  assert.match(page, /^mnistd selftest, version \d+\.\d+\.\d+, 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ\n/);
  const lines = linesOf(page);
  assert.deepEqual(lines.filter((line) => line.kernel === '-').map((line) => line.operation), operations);
  for (const line of lines) assert.ok(line.verdict === 'ok' && line.error <= line.tolerance, JSON.stringify(line));
  const losses = lossesOf(page);
  assert.deepEqual(losses.map((row) => row.iteration), ['1', '2', '3', '4', '5', '6', '7', '8', '9', '10', 'result']);
  losses.forEach((row, i) => {
    assert.ok(row.verdict === 'ok' && Math.abs(row.loss - row.float64) <= 1e-5 * row.float64, JSON.stringify(row));
    assert.ok(i === 0 || row.float64 < losses[i - 1].float64, 'the made-up training learns');
  });
  assert.match(page, /^Result: all right, after [\d.]+ s$/m);
  assert.doesNotMatch(page, /OFF|nan|inf/);
  assert.ok(page.split('\n').length < 80 && page.split('\n').every((line) => line.length < 120), 'one page');
  return lines;
}

test('on the CPU: every line is there, with times', async () => {
  const { code, stdout, stderr } = await run(['selftest', '--backend', 'cpu']);
  assert.equal(code, 0, stdout + stderr);
  const lines = looksRight(stdout);
  assert.equal(lines.length, operations.length);
  assert.match(stdout, /images: 1 63 64 65 .* 4096/);
  assert.match(stdout, /^Backend: +cpu$/m);
});

test('quick: small sizes and no times', async () => {
  const { code, stdout } = await run(['selftest', '--backend', 'cpu', '--quick']);
  assert.equal(code, 0, stdout);
  assert.ok(looksRight(stdout).every((line) => line.time === '-'));
  assert.doesNotMatch(stdout, /4096/);
});

test('on the emulator: every variant of a kernel too', async (t) => {
  if (!existsSync(emulated)) return t.skip(`no ${emulated}: it is built where libboost-context-dev is`);
  const { code, stdout, stderr } = await run(['selftest', '--backend', 'hip', '--quick'], { program: emulated });
  assert.equal(code, 0, stdout + stderr);
  const lines = looksRight(stdout);
  for (const kernel of ['residual=1-plain', 'residual=2-tiled', 'gradient=1-plain', 'gradient=2-tiled']) {
    const [product] = kernel.split('=');
    assert.deepEqual(lines.filter((line) => line.kernel === kernel).map((line) => line.operation), [product, 'loss_and_gradient']);
  }
  for (const [kernel, operation] of [['pass=1-two-products', 'loss_and_gradient'], ['pass=2-fused', 'loss_and_gradient'], ['gram=1-plain', 'gram'], ['gram=2-dot4', 'gram'], ['gram_step=1-plain', 'gram_descend'],
    ['gram_step=2-one-launch', 'gram_descend'], ['gram_step=3-cooperative', 'gram_descend']]) {
    assert.deepEqual(lines.filter((line) => line.kernel === kernel).map((line) => line.operation), [operation], kernel);
  }
  assert.match(stdout, /^Wavefront: +64 lanes$/m);
});

test('without the device that is asked for: the reason, exit code 1', async (t) => {
  const { code, stdout } = await run(['selftest', '--backend', 'hip', '--device', '1000']);
  if (/Device: +none/.test(stdout) === false) return t.skip('there is a HIP device');
  assert.equal(code, 1);
  assert.match(stdout, /^Device: +none: .*(HIP|device|driver|kfd)/m);
  assert.match(stdout, /^Result: OFF, 1 check/m);
});

test('a device that is wrong is found out', async (t) => {
  if (!existsSync(faulty)) return t.skip(`no ${faulty}: it is built with the tests`);
  const page = (fault) => run(['selftest', '--backend', 'hip', '--quick'], { program: faulty, env: { ...process.env, MNISTD_FAULT: fault } });

  const right = await page('');
  assert.equal(right.code, 0, right.stdout);
  looksRight(right.stdout);

  // The fault, the operations that must be off, and what is said of it.
  const cases = [
    ...['initialise', 'scores', 'gradient:63', 'loss_and_gradient:65', 'step'].map((fault) => [fault, fault.split(':')[0], /at \d+ images: \d+ of \d+ values are off; value \d+ is \S+, expected \S+ ± \S+$/m]),
    ['count_correct', 'count_correct', /are counted correct, expected/],
    ['residual:513', 'residual', /at 513 images: 1 of 5130 values are off; value 5129 is/],
    ['overrun:1', 'residual', /at 1 images: wrote behind its result/],
    ['unwritten:64', 'residual', /at 64 images: 1 of 640 values are off; value 0 is -?nan/],
    ['squared_residual', 'residual', /the squared residual is/],
    ['correct:63', 'residual', /at 63 images: \d+ are counted correct/],
    ['gram:65', 'gram', /at 65 images: 1 of 616225 products are off; row 784, column 784 is 66, expected 65$/m],
    ['class_sums', 'gram', /of 7850 class sums are off; row 9, column 784 is/],
    ['gram_descend', 'gram_descend', /at 1 images: 1 of 7850 values are off; value 0 is/],
    ['error:64', 'residual', /at 64 images: the kernel was not launched/],
  ];
  for (const [fault, operation, said] of cases) {
    const { code, stdout } = await page(fault);
    assert.equal(code, 1, `${fault}\n${stdout}`);
    const off = linesOf(stdout).filter((line) => line.verdict === 'OFF').map((line) => line.operation);
    assert.ok(off.length > 0 && off.every((name) => name === operation), `${fault}: ${off}\n${stdout}`);
    assert.match(stdout, said, fault);
    assert.match(stdout, /^Result: OFF, \d+ checks?, after/m);
    if (fault === 'step') assert.ok(lossesOf(stdout).at(-1).verdict === 'OFF', stdout);
  }
  const lost = await page('lost:64');
  assert.equal(lost.code, 1);
  assert.match(lost.stdout, /^Not finished: the device has left$/m);
});
