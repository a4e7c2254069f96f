// What stops the program from starting, each with its message; and the command line's promises.
import assert from 'node:assert/strict';
import { chmodSync, copyFileSync, cpSync, mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import test from 'node:test';
import { gzipSync } from 'node:zlib';
import { Daemon, binary, mnist, reference, run, temporaryDirectory, until } from './program.mjs';

const names = ['train-images-idx3-ubyte', 'train-labels-idx1-ubyte', 't10k-images-idx3-ubyte', 't10k-labels-idx1-ubyte'];

// A directory of links to the real files, but for one that `spoil` makes.
function dataset(context, name, spoil) {
  const directory = temporaryDirectory(context);
  for (const file of names) if (file !== name) symlinkSync(join(mnist, file), join(directory, file));
  spoil?.(join(directory, name));
  return directory;
}

async function refuses(context, directory, ...patterns) {
  const data = temporaryDirectory(context);
  const { code, stderr } = await run(['serve', '--port', '0', '--data-dir', data, '--dataset', `mnist=${directory}`], { seconds: 20 });
  assert.equal(code, 1, stderr);
  for (const pattern of patterns) assert.match(stderr, pattern);
  assert.equal((await run(['train', directory, '1'], { cwd: data })).code, 1, 'train refuses it too');
}

test('datasets that are not what they should be', async (t) => {
  const images = names[0];
  await refuses(t, dataset(t, images), /train-images-idx3-ubyte/, /script\/bootstrap/);
  await refuses(t, dataset(t, images, (file) => writeFileSync(file, '')), /train-images-idx3-ubyte/, /empty/);
  await refuses(t, dataset(t, images, (file) => (copyFileSync(join(mnist, images), file), truncateSync(file, 1000000))),
    /train-images-idx3-ubyte/, /1000000|999984/, /47040016|47040000/);
  await refuses(t, dataset(t, images, (file) => writeFileSync(file, '<!DOCTYPE html><title>403</title>')), /train-images-idx3-ubyte/, /HTML/);
  await refuses(t, dataset(t, images, (file) => symlinkSync(join(mnist, names[1]), file)), /train-images-idx3-ubyte/, /label/i);
  await refuses(t, dataset(t, names[1], (file) => symlinkSync(join(mnist, names[3]), file)), /10000/, /60000/);
  await refuses(t, dataset(t, names[3], (file) => {
    const labels = readFileSync(join(mnist, names[3]));
    labels[8 + 41] = 10;
    writeFileSync(file, labels);
  }), /t10k-labels/, /41/, /10/);
});

test('gzip and the other spelling are read', async (t) => {
  const directory = temporaryDirectory(t);
  symlinkSync(join(mnist, names[0]), join(directory, 'train-images.idx3-ubyte.gz'));
  writeFileSync(join(directory, 'train-labels-idx1-ubyte'), gzipSync(readFileSync(join(mnist, names[1]))));
  writeFileSync(join(directory, 't10k-images.idx3-ubyte'), gzipSync(readFileSync(join(mnist, names[2])), { level: 1 }));
  symlinkSync(join(mnist, names[3]), join(directory, 't10k-labels-idx1-ubyte.gz'));
  const { code, stdout } = await run(['show', directory, 'test', '0']);
  assert.equal(code, 0);
  const expected = readFileSync(join(reference, 'digit-test-0.txt'), 'utf8').split('\n').filter((line) => !line.includes('PREDICTION'));
  assert.equal(stdout.trimEnd(), expected.join('\n').trimEnd());
});

test('a port in use, a data dir in use, a port that is not allowed', async (t) => {
  const daemon = await Daemon.start(t, ['--no-first-training']);
  const port = new URL(daemon.url).port;
  const dataset = `mnist=${mnist}`;
  const samePort = await run(['serve', '--port', port, '--data-dir', temporaryDirectory(t), '--dataset', dataset]);
  assert.equal(samePort.code, 1);
  assert.match(samePort.stderr, new RegExp(`port ${port}.*in use`));
  const sameDir = await run(['serve', '--port', '0', '--data-dir', daemon.dataDir, '--dataset', dataset]);
  assert.equal(sameDir.code, 1);
  assert.match(sameDir.stderr, new RegExp(`in use by process ${daemon.child.pid}`));
  assert.equal((await daemon.fetch('/healthz')).status, 200, 'the first one did not notice');

  const other = createServer().listen(0, '127.0.0.1');
  await until('the other program to listen', () => other.address());
  const taken = await run(['serve', '--port', `${other.address().port}`, '--data-dir', temporaryDirectory(t), '--dataset', dataset]);
  other.close();
  assert.equal(taken.code, 1);
  assert.match(taken.stderr, /in use/);
});

test('a data dir that can not be written', async (t) => {
  const file = join(temporaryDirectory(t), 'file');
  writeFileSync(file, '');
  const onFile = await run(['serve', '--port', '0', '--data-dir', file, '--dataset', `mnist=${mnist}`]);
  assert.equal(onFile.code, 1);
  assert.match(onFile.stderr, /not a directory/);

  const root = process.getuid() === 0;  // who may write anywhere: give the rights away
  const home = temporaryDirectory(t);
  const data = join(home, 'data');
  mkdirSync(data);
  chmodSync(data, 0o555);
  chmodSync(home, 0o755);
  const program = join(home, 'mnistd');
  copyFileSync(binary, program);
  chmodSync(program, 0o755);
  cpSync(mnist, join(home, 'mnist'), { recursive: true });
  const { spawnSync } = await import('node:child_process');
  const { status, stderr } = spawnSync(program, ['serve', '--port', '0', '--data-dir', data, '--dataset', `mnist=${join(home, 'mnist')}`],
    { encoding: 'utf8', timeout: 20000, ...(root ? { uid: 65534, gid: 65534 } : {}) });
  assert.equal(status, 1, stderr);
  assert.match(stderr, /can ?not be written|can't be written|not writable|[Pp]ermission denied/);
  assert.ok(stderr.includes(data));
});

test('wrong usage is exit code 2 and says what is wrong', async (t) => {
  const cases = [
    [[], /which command/],
    [['tarin'], /tarin/],
    [['serve', '--port', '70000'], /port/],
    [['serve', '--prot', '1'], /--prot/],
    [['serve', '--dataset', 'mnist'], /NAME=DIR/],
    [['serve', '--backend', 'cuda'], /backend/],
    [['train'], /dataset/],
    [['train', mnist, '0'], /iterations/],
    [['train', mnist, '3.9'], /iterations/],
    [['train', mnist, '10', 'nan'], /learning_rate/],
    [['train', mnist, '10', '-1'], /learning_rate|-1/],
    [['show', mnist, 'tset'], /split/],
    [['show', mnist, 'test', '10000'], /10000/],
    [['selftest', '--backend', 'cuda'], /backend/],
    [['selftest', '--device', '-1'], /device/],
  ];
  for (const [args, pattern] of cases) {
    const { code, stderr } = await run(args, { cwd: temporaryDirectory(t) });
    assert.equal(code, 2, `mnistd ${args.join(' ')}: ${stderr}`);
    assert.match(stderr, pattern, `mnistd ${args.join(' ')}`);
  }
  const hip = await run(['serve', '--backend', 'hip', '--port', '0', '--data-dir', temporaryDirectory(t), '--dataset', `mnist=${mnist}`]);
  assert.equal(hip.code, 1);
  assert.match(hip.stderr, /HIP|kfd|driver/);
  for (const args of [['--help'], ['--version'], ['serve', '--help'], ['train', '--help'], ['show', '--help'], ['selftest', '--help']]) {
    const { code, stdout } = await run(args);
    assert.equal(code, 0, args.join(' '));
    assert.match(stdout, /mnistd/);
  }
});

test('settings: file, then environment, then flags', async (t) => {
  const directory = temporaryDirectory(t);
  const config = join(directory, 'mnistd.toml');
  writeFileSync(config, 'queue-limit = 3\nlog-level = "error"\nno-first-training = true\n');
  const limit = async (args, environment) => {
    const saved = { ...process.env };
    Object.assign(process.env, environment);
    const daemon = await Daemon.start(t, args);
    process.env = saved;
    const system = await daemon.json('/v1/system');
    await daemon.stop();
    return system.queue.limit;
  };
  assert.equal(await limit(['--config', config], {}), 3);
  assert.equal(await limit(['--config', config], { MNISTD_QUEUE_LIMIT: '4' }), 4);
  assert.equal(await limit(['--config', config, '--queue-limit', '5'], { MNISTD_QUEUE_LIMIT: '4' }), 5);
  writeFileSync(config, 'queue-limt = 3\n');
  const typo = await run(['serve', '--config', config, '--port', '0', '--data-dir', directory, '--dataset', `mnist=${mnist}`]);
  assert.equal(typo.code, 2);
  assert.match(typo.stderr, /queue-limt/);
});

test('train without the daemon prints what the original printed', async (t) => {
  const directory = temporaryDirectory(t);
  const { code, stdout, stderr } = await run(['train', mnist, '100', '0.01'], { cwd: directory });
  assert.equal(code, 0, stderr);
  const numbers = /(\d{5})\s*\/\s*60,?000/.exec(stdout.replaceAll(',', ''));
  assert.ok(numbers && Math.abs(Number(numbers[1]) - 49884) <= 5, stdout);
  assert.match(stdout, /0\.45412|0\.45413/);
  const lines = readFileSync(join(directory, 'loss.csv'), 'utf8').trim().split('\n');
  assert.equal(lines.length, 101);
  assert.ok(Math.abs(Number(lines[100].split(',')[1]) - 0.45455296) < 1e-5);
  assert.ok(!stdout.includes('\r') && !stderr.includes('\r'), 'no progress bar where there is no terminal');
});
