// mnistd train on a terminal and off it: the digits to leaf through, Ctrl-C, a loss that diverges, a loss.csv that cannot be
// written. The dataset is a small one that is made here.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { binary, pause, run, temporaryDirectory, until } from './program.mjs';

// Image i: a bar whose place is its label, i mod 10.
function smallDataset(context, trainCount = 200, testCount = 30) {
  const directory = temporaryDirectory(context);
  for (const [stem, count] of [['train', trainCount], ['t10k', testCount]]) {
    const images = Buffer.alloc(16 + count * 784);
    const labels = Buffer.alloc(8 + count);
    [0x803, count, 28, 28].forEach((value, i) => images.writeUInt32BE(value, 4 * i));
    [0x801, count].forEach((value, i) => labels.writeUInt32BE(value, 4 * i));
    for (let i = 0; i < count; i++) {
      labels[8 + i] = i % 10;
      images.fill(255, 16 + i * 784 + (i % 10) * 56, 16 + i * 784 + (i % 10) * 56 + 56);
    }
    writeFileSync(join(directory, `${stem}-images-idx3-ubyte`), images);
    writeFileSync(join(directory, `${stem}-labels-idx1-ubyte`), labels);
  }
  return directory;
}

const rowsOf = (directory) => readFileSync(join(directory, 'loss.csv'), 'utf8').trim().split('\n').slice(1);

test('off a terminal: the summary, a digit, no prompt and no bar', async (t) => {
  const cwd = temporaryDirectory(t);
  const { code, stdout, stderr } = await run(['train', smallDataset(t), '50', '0.01'], { cwd });
  assert.equal(code, 0, stderr);
  assert.match(stdout, /200 training and 30 test images of 28x28/);
  assert.match(stdout, /Iterations: +50 at learning rate 0\.01, solver gemm/);
  assert.match(stdout, /Training accuracy: +200\/200 \(100\.00 %\)/);
  assert.match(stdout, /Test accuracy: +30\/30 \(100\.00 %\)/);
  assert.match(stdout, /Time an iteration: +[\d.]+ ms/);
  assert.match(stdout, /TRUTH: 0\n +ID: 1\/30\n +PREDICTION: 0\n(\* ){29}\*\n/);
  assert.doesNotMatch(stdout, /\[n\]ext|\x1b/);
  assert.doesNotMatch(stderr, /\r|\x1b/);
  const rows = rowsOf(cwd);
  assert.equal(rows.length, 50);
  rows.forEach((row, i) => {
    const [iteration, loss, trainAccuracy, testAccuracy, elapsed, ...more] = row.split(',').map(Number);
    assert.equal(iteration, i + 1);
    assert.ok(loss > 0 && loss < 2 && trainAccuracy <= 1 && testAccuracy <= 1 && elapsed > 0 && more.length === 0, row);
  });
  assert.deepEqual(readdirSync(cwd), ['loss.csv'], 'no temporary file stays');
});

test('more than 1,000 iterations give at most 1,000 rows, among them the first and the last', async (t) => {
  const cwd = temporaryDirectory(t);
  assert.equal((await run(['train', smallDataset(t, 20, 10), '2001'], { cwd })).code, 0);
  const iterations = rowsOf(cwd).map((row) => Number(row.split(',')[0]));
  assert.ok(iterations.length <= 1000);
  assert.equal(iterations[0], 1);
  assert.equal(iterations.at(-1), 2001);
});

test('on a terminal: a bar, colour, and digits to leaf through', async (t) => {
  if (spawnSync('script', ['--version']).status !== 0) return t.skip('no script(1) to make a terminal');
  const cwd = temporaryDirectory(t);
  const terminal = spawn('script', ['-qec', `'${binary}' train '${smallDataset(t)}' 50`, '/dev/null'], { cwd });
  t.after(() => terminal.kill('SIGKILL'));
  let screen = '';
  terminal.stdout.on('data', (bytes) => (screen += bytes));
  const end = new Promise((done) => terminal.on('close', done));
  const prompts = () => screen.split('[c]ontinue: ').length - 1;
  const answer = async (text) => {
    const before = prompts();
    const from = screen.length;
    terminal.stdin.write(`${text}\n`);
    await until(`an answer to ${text}`, () => prompts() > before, 10);
    return screen.slice(from);
  };
  await until('the first prompt', () => prompts() === 1, 30);
  assert.match(screen, /\[#+-*\] +\d+\/50 {2}loss/);
  assert.match(screen, /ID: 1\/30\r\n +\x1b\[42mPREDICTION: 0\x1b\[0m/);
  assert.match(await answer('n'), /ID: 2\/30/);
  assert.match(await answer(''), /ID: 3\/30/);
  assert.match(await answer('p'), /ID: 2\/30/);
  assert.match(await answer('30'), /TRUTH: 9[^]*ID: 30\/30[^]*PREDICTION: 9/);
  for (const beyond of ['n', '31', '0', '99999999999999999999']) assert.match(await answer(beyond), /numbered from 1 to 30/);
  assert.match(await answer('7x'), /"7x" is none of these/);
  assert.match(await answer('1'), /ID: 1\/30/);
  assert.match(await answer('p'), /numbered from 1 to 30/);
  terminal.stdin.write('c\n');
  assert.equal(await end, 0);
});

test('the end of input ends the leafing', async (t) => {
  if (spawnSync('script', ['--version']).status !== 0) return t.skip('no script(1) to make a terminal');
  const terminal = spawn('script', ['-qec', `'${binary}' train '${smallDataset(t)}' 5`, '/dev/null'], { cwd: temporaryDirectory(t) });
  t.after(() => terminal.kill('SIGKILL'));
  let screen = '';
  terminal.stdout.on('data', (bytes) => (screen += bytes));
  const end = new Promise((done) => terminal.on('close', done));
  await until('the prompt', () => screen.includes('[c]ontinue'), 30);
  terminal.stdin.write('\x04');
  assert.equal(await end, 0);
});

test('Ctrl-C stops the training within an iteration and keeps what there is', async (t) => {
  const cwd = temporaryDirectory(t);
  const child = spawn(binary, ['train', smallDataset(t, 2000), '1000000'], { cwd });
  t.after(() => child.kill('SIGKILL'));
  let stdout = '';
  child.stdout.on('data', (bytes) => (stdout += bytes));
  const end = new Promise((done) => child.on('close', (code, signal) => done({ code, signal })));
  await until('the training to begin', () => stdout.includes('Device:'), 30);
  await pause(300);
  const interrupted = Date.now();
  child.kill('SIGINT');
  assert.deepEqual(await end, { code: 1, signal: null });
  assert.ok(Date.now() - interrupted < 2000);
  assert.match(stdout, /Stopped: +after \d+ of 1000000 iterations/);
  assert.ok(rowsOf(cwd).length >= 1);
});

// Ten bars of 56 pixels: with the bias, the eigenvalues of XᵀX/n are 6.6, nine times 5.6, and zeros.
const limit = 0.151515;

test('an automatic rate is half the stability limit, and the gram solver goes the same way', async (t) => {
  const cwd = temporaryDirectory(t);
  const { code, stdout, stderr } = await run(['train', smallDataset(t), '4', 'auto', '--solver', 'gram'], { cwd });
  assert.equal(code, 0, stderr);
  assert.doesNotMatch(stderr, /warning/);
  assert.match(stdout, /Learning rate: +0\.0757576, half of the stability limit 0\.151515/);
  assert.match(stdout, /Iterations: +4 at learning rate 0\.0757576, solver gram/);
  const byGram = rowsOf(cwd);
  await run(['train', smallDataset(t), '4', '0.0757575757575758'], { cwd });
  rowsOf(cwd).forEach((row, i) => {
    const [found, expected] = [byGram[i], row].map((text) => text.split(',').map(Number));
    assert.ok(Math.abs(found[1] - expected[1]) <= 1e-6, `${byGram[i]} and ${row}`);
    assert.deepEqual(found.slice(2, 4), expected.slice(2, 4));
  });
});

test('a rate that is neither a number nor auto, a solver that there is not', async (t) => {
  const directory = smallDataset(t);
  for (const args of [['5', 'Auto'], ['5', '-1'], ['5', '0.01', '--solver', 'gem']]) {
    const { code, stderr } = await run(['train', directory, ...args], { cwd: temporaryDirectory(t) });
    assert.equal(code, 2, stderr);
  }
});

test('a training that diverges is warned of, fails by name, and its rows stay', async (t) => {
  const cwd = temporaryDirectory(t);
  const { code, stderr } = await run(['train', smallDataset(t), '1000', '1'], { cwd });
  assert.equal(code, 1);
  assert.match(stderr, new RegExp(`warning: learning rate 1 is above the stability limit of this dataset, ${limit}`));
  const [, iteration] = /diverged.*at iteration (\d+) with learning rate 1; use a smaller learning rate/.exec(stderr) ?? [];
  assert.equal(rowsOf(cwd).length, Number(iteration) - 1);
});

test('a loss.csv that cannot be written is an error before the training', async (t) => {
  const cwd = temporaryDirectory(t);
  mkdirSync(join(cwd, 'loss.csv'));
  const { code, stdout, stderr } = await run(['train', smallDataset(t), '5'], { cwd });
  assert.equal(code, 1);
  assert.match(stderr, /cannot write .*loss\.csv: Is a directory/);
  assert.doesNotMatch(stdout, /Loss:/);
  const gone = await run(['train', smallDataset(t), '5'], { cwd: '/proc' });
  assert.equal(gone.code, 1);
  assert.match(gone.stderr, /cannot write \/proc\/loss\.csv/);
});
