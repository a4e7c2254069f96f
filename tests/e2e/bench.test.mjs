// mnistd bench: on a right device, on the emulator, on one that computes one operation wrong; and the comparison with a rival.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { besides, binary, emulated, mnist, run, temporaryDirectory } from './program.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const faulty = process.env.MNISTD_FAULTY ?? besides('mnistd_faulty');
const operations = ['descend', 'loss_and_gradient', 'residual', 'gradient', 'step', 'initialise', 'scores', 'count_correct', 'gram', 'gram_descend'];
const small = ['--images', '150', '--quick', '--dataset', mnist];

function looksLikeAReport(report, images) {
  assert.equal(report.program, 'mnistd bench');
  assert.match(report.version, /^\d+\.\d+\.\d+$/);
  assert.match(report.date, /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  assert.ok(report.device.name && report.device.architecture && report.device.compute_units >= 1);
  assert.equal(report.images.count, images);
  for (const limit of Object.values(report.limits)) assert.ok(Number.isFinite(limit) && limit > 0);
  assert.equal(report.memory.image_bytes, images * 785);
  assert.ok(report.memory.gemm_scratch_bytes > 0 && report.memory.scratch_bytes >= report.memory.gemm_scratch_bytes);
  assert.ok(Math.abs(report.memory.scratch_ratio - report.memory.scratch_bytes / (images * 785)) < 1e-12);
  for (const row of report.rows) {
    assert.ok(row.right && row.faults.length === 0, JSON.stringify(row));
    for (const times of [row.warm_ms, row.cold_ms]) {
      const { least, lower_quartile, median, upper_quartile, most, samples } = times;
      assert.ok(0 < least && least <= lower_quartile && lower_quartile <= median && median <= upper_quartile && upper_quartile <= most, JSON.stringify(row));
      assert.ok(samples >= 3);
    }
    assert.ok(row.limit_ms > 0 && ['bytes of memory', 'fp32', 'byte products'].includes(row.limited_by));
    assert.ok(Math.abs(row.share_of_limit - row.limit_ms / row.warm_ms.median) < 1e-9);
    assert.ok(Math.abs((row.operations_per_second * row.warm_ms.median) / 1e3 - row.flops - row.byte_operations) < 1);
  }
  for (const { loss, float64_loss, iterations, faults } of report.trainings) {
    assert.equal(iterations, 5);
    assert.deepEqual(faults, []);
    assert.ok(Math.abs(loss - float64_loss) <= 1e-5 * float64_loss && loss > 0 && loss < 1);
  }
  assert.equal(report.right, true);
}

// The first images of MNIST as a dataset of its own.
function firstOfMnist(context, count) {
  const directory = temporaryDirectory(context);
  for (const split of ['train', 't10k']) {
    for (const [kind, header, bytes] of [['images-idx3', 16, 784], ['labels-idx1', 8, 1]]) {
      const name = `${split}-${kind}-ubyte`;
      const cut = Buffer.from(readFileSync(join(mnist, name)).subarray(0, header + bytes * count));
      cut.writeUInt32BE(count, 4);
      writeFileSync(join(directory, name), cut);
    }
  }
  return directory;
}

test('on the CPU: the table, of all operations, on both kinds of images', async () => {
  const { code, stdout, stderr } = await run(['bench', '--backend', 'cpu', ...small]);
  assert.equal(code, 0, stdout + stderr);
  assert.match(stdout, /^mnistd bench, version \d+\.\d+\.\d+, 20\d\d-/);
  assert.match(stdout, new RegExp(`^images {3}150: ${mnist}, of its 60000$`, 'm'));
  assert.match(stdout, /^limits {3}copy \S+ GB\/s, fp32 multiply-adds \S+ GFLOP\/s, byte products \S+ Gop\/s$/m);
  const [real, random] = stdout.split('what the device chooses, random bytes');
  for (const name of operations) assert.match(real, new RegExp(`^  ${name} +\\d.* - .*%$`, 'm'), name);
  for (const name of ['descend', 'residual', 'gram']) assert.match(random, new RegExp(`^  ${name} +\\d.*%$`, 'm'), name);
  assert.match(stdout, /a training, gemm: 5 iterations at 0.01, .* loss 0\.\d{9} \(float64 0\.\d{9}\)/);
  assert.match(stdout, /^memory {3}images 0\.12 MB\n {9}beyond them: \d+\.\d\d MB, \d\.\d{3} of that, kept by gemm iterations$/m);
  assert.match(stdout, /^Result: all right$/m);
  assert.ok(stdout.split('\n').every((line) => [...line].length <= 100), stdout);
});

test('as JSON', async (t) => {
  const { code, stdout } = await run(['bench', '--backend', 'cpu', '--threads', '1', '--json', ...small]);
  assert.equal(code, 0, stdout);
  const report = JSON.parse(stdout);
  looksLikeAReport(report, 150);
  assert.equal(report.device.compute_units, 1);
  for (const { processor_ms } of report.rows) assert.ok(processor_ms.median >= 0 && processor_ms.least <= processor_ms.most);
  assert.deepEqual(report.rows.filter((row) => row.source === mnist).map((row) => row.operation), operations);
  assert.deepEqual(report.trainings.map((training) => training.solver), ['gemm', 'gram']);

  const file = join(temporaryDirectory(t), 'report.json');
  const beside = await run(['bench', '--backend', 'cpu', '--json-file', file, '--chosen', '--operations', 'gram,gram_descend', '--iterations', '0', ...small]);
  assert.equal(beside.code, 0, beside.stdout);
  assert.match(beside.stdout, /^Result: all right$/m);
  const { rows, trainings } = JSON.parse(readFileSync(file, 'utf8'));
  assert.deepEqual(rows.map((row) => row.operation), ['gram', 'gram_descend']);
  assert.deepEqual(trainings, []);
});

test('more images than there are repeat them; without a dataset they are random', async (t) => {
  const dataset = firstOfMnist(t, 100);
  const { code, stdout } = await run(['bench', '--backend', 'cpu', '--json', '--quick', '--chosen', '--images', '250', '--dataset', dataset]);
  assert.equal(code, 0, stdout);
  const report = JSON.parse(stdout);
  looksLikeAReport(report, 250);
  assert.deepEqual(report.images, { count: 250, source: dataset, repeated_from: 100 });
  const elsewhere = await run(['bench', '--backend', 'cpu', '--json', '--quick', '--images', '90', '--operations', 'descend'], { cwd: temporaryDirectory(t) });
  assert.equal(elsewhere.code, 0, elsewhere.stdout);
  assert.deepEqual(JSON.parse(elsewhere.stdout).images, { count: 90, source: 'random bytes', repeated_from: 90 });
});

test('on the emulator: every variant that can be forced', async (t) => {
  if (!existsSync(emulated)) return t.skip(`no ${emulated}: it is built where libboost-context-dev is`);
  const selftest = await run(['selftest', '--backend', 'hip', '--quick'], { program: emulated });
  const kernels = new Set([...selftest.stdout.matchAll(/^[a-z_]+ +(\w+=\S+) /gm)].map(([, kernel]) => kernel));
  assert.ok(kernels.size >= 4, selftest.stdout);
  const { code, stdout, stderr } = await run(['bench', '--backend', 'hip', '--images', '70', '--quick', '--json', '--dataset', mnist], { program: emulated, seconds: 400 });
  assert.equal(code, 0, stdout + stderr);
  const report = JSON.parse(stdout);
  looksLikeAReport(report, 70);
  const timed = new Set(report.rows.map((row) => row.kernel));
  for (const kernel of kernels) assert.ok(timed.has(kernel), `${kernel} is timed: ${[...timed]}`);
  const one = await run(['bench', '--backend', 'hip', '--images', '70', '--quick', '--json', '--dataset', mnist, '--kernel', 'residual=1-plain', '--operations', 'residual'], { program: emulated });
  assert.deepEqual(JSON.parse(one.stdout).rows.map((row) => [row.operation, row.kernel, row.source]), [['residual', 'residual=1-plain', mnist], ['residual', 'residual=1-plain', 'random bytes']]);
});

test('what is wrong is not timed', async (t) => {
  if (!existsSync(faulty)) return t.skip(`no ${faulty}: it is built with the tests`);
  const page = (fault, ...more) => run(['bench', '--backend', 'hip', '--chosen', '--images', '150', '--quick', '--random', ...more], { program: faulty, env: { ...process.env, MNISTD_FAULT: fault } });
  const right = await page('');
  assert.equal(right.code, 0, right.stdout + right.stderr);
  const cases = [
    ['initialise', 'initialise', /1 of 7850 values are off/],
    ['residual:150', 'residual', /1 of 1500 values are off; value 1499 is/],
    ['overrun:150', 'residual', /something was written before or behind the result/],
    ['unwritten:150', 'residual', /value 0 is -?nan/],
    ['squared_residual', 'residual', /the squared residual is/],
    ['correct:1', 'residual', /of 1 images: 1|of 1 images: 2|are counted correct/],
    ['error:150', 'residual', /the kernel was not launched/],
    ['gradient:1', 'gradient', /of 1 images: 1 of 7850 values are off; value 0/],
    ['step', 'step', /7850 of 7850 values are off/],
    ['scores', 'scores', /1 of 1500 values are off; value 0/],
    ['count_correct', 'count_correct', /are counted correct, expected/],
    ['gram:150', 'gram', /1 of the products are wrong; number 616224 is/],
    ['class_sums:150', 'gram', /1 of the class sums are wrong; number 7849 is/],
    ['gram_descend', 'gram_descend', /1 of 7850 values are off; value 0/],
    ['loss_and_gradient', 'loss_and_gradient', /1 of 7850 values are off; value 784/],
  ];
  for (const [fault, operation, said] of cases) {
    const { code, stdout } = await page(fault, '--iterations', '0', '--operations', operation);
    assert.equal(code, 1, `${fault}\n${stdout}`);
    assert.match(stdout, new RegExp(`^  ${operation} +WRONG, so not timed$`, 'm'), fault);
    assert.match(stdout, said, fault);
    assert.match(stdout, /^Result: WRONG$/m);
  }
  const json = await page('residual:150', '--json');
  assert.equal(json.code, 1);
  const report = JSON.parse(json.stdout);
  const row = report.rows.find(({ operation }) => operation === 'residual');
  assert.ok(!report.right && !row.right && row.faults.length > 0 && row.warm_ms === undefined);
  const lost = await page('lost:150');
  assert.equal(lost.code, 1);
  assert.match(lost.stderr, /^mnistd: the device has left$/m);
});

test('wrong usage, and no such device', async () => {
  const cases = [
    [['--images', '0'], 2, /--images/],
    [['--images', '6000001'], 2, /--images/],
    [['--operations', 'residual,nonsense'], 2, /no operation 'nonsense': choose from descend, /],
    [['--random', '--dataset', mnist], 2, /--random|--dataset/],
    [['--json', '--json-file', '/tmp/x'], 2, /--json/],
    [['--iterations', '-1'], 2, /--iterations/],
    [['--unheard'], 2, /--unheard/],
    [['--backend', 'cpu', '--device', '3'], 1, /there is one CPU device/],
    [['--dataset', '/nonexistent'], 1, /nonexistent/],
    [['--json-file', '/nonexistent/figures.json'], 1, /cannot write \/nonexistent\/figures\.json/],
    [['--backend', 'cpu', '--kernel', 'residual=1-plain'], 1, /the CPU device has no kernels to choose from/],
  ];
  for (const [args, expected, said] of cases) {
    const { code, stdout, stderr } = await run(['bench', ...args]);
    assert.equal(code, expected, args.join(' '));
    assert.match(stderr, said, args.join(' '));
    assert.equal(stderr.includes('Result'), false);
    assert.doesNotMatch(stdout, /%/);
  }
  const help = await run(['bench', '--help']);
  assert.equal(help.code, 0);
  for (const flag of ['--json', '--backend', '--device', '--threads', '--images', '--dataset', '--kernel', '--quick']) assert.ok(help.stdout.includes(flag), flag);
});

test('the comparison with a rival: in turn, and only where both reach the same loss', async (t) => {
  if (spawnSync('python3', ['--version']).status !== 0) return t.skip('no python3');
  const directory = temporaryDirectory(t);
  const dataset = firstOfMnist(t, 400);
  // A rival that tells of the loss that it is given, and of fixed times.
  const rival = join(directory, 'rival.mjs');
  writeFileSync(rival, `
    import { createInterface } from 'node:readline';
    const [, , loss] = process.argv;
    const cases = ['descend', 'gram_descend', 'gram'].map((ours) => ({ name: 'by hand: ' + ours, ours, how: 'slowly' }));
    const trainings = ['gemm', 'gram'].map((name) => ({ case: name, iterations: 5, learning_rate: 0.01, loss: Number(loss) }));
    console.log(JSON.stringify({ peer: 'Abacus', device: 'wood', what: 'beads', images: 400, trainings, cases }));
    for await (const line of createInterface({ input: process.stdin }))
      if (line === 'round') console.log(JSON.stringify(Object.fromEntries(cases.map(({ name }) => [name, { median: 1000, least: 900, most: 2000 }]))));
  `);
  const compare = (loss, results) =>
    run(['gpu/bench/peers/compare.py', '--ours', binary, '--flags', '--backend cpu --quick', '--dataset', dataset, '--rounds', '2', '--iterations', '5', '--results', results, '--', process.execPath, rival, String(loss)],
      { program: 'python3', cwd: root, env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' } });
  const wrong = await compare(0.9, join(directory, 'none'));
  assert.notEqual(wrong.code, 0);
  assert.match(wrong.stderr, /Abacus, gemm ends 5 iterations with the loss 0\.9, not 0\.\d+/);
  assert.ok(!existsSync(join(directory, 'none')), 'nothing is written');

  const loss = Number(/with the loss 0\.9, not (0\.\d+)/.exec(wrong.stderr)[1]);
  const { code, stdout, stderr } = await compare(loss, join(directory, 'results'));
  assert.equal(code, 0, stdout + stderr);
  const files = readdirSync(join(directory, 'results')).sort();
  assert.equal(files.length, 2);
  assert.match(files[0], /^20\d\d-\d\d-\d\d-[a-z0-9-]+\.json$/);
  const result = JSON.parse(readFileSync(join(directory, 'results', files[0]), 'utf8'));
  assert.equal(readFileSync(join(directory, 'results', files[1]), 'utf8'), stdout);
  assert.equal(result.comparisons.length, 3);
  for (const { ours_ms, theirs_ms, ratio } of result.comparisons) {
    assert.equal(theirs_ms.median, 1000);
    assert.ok(ours_ms.median > 0 && Math.abs(ratio - ours_ms.median / 1000) < 1e-12);
    assert.ok(stdout.includes(`**${ratio.toFixed(3)}**`));
  }
});
