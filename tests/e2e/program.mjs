// Starts the real program for a test, on a free port and a data dir of its own, and ends it again.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, existsSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
export const binary = process.env.MNISTD_BINARY ?? join(root, 'build/release/mnistd');
// A program that lies beside it, such as mnistd_emulated.
export const besides = (name) => join(dirname(binary), name);
export const emulated = process.env.MNISTD_EMULATED ?? besides('mnistd_emulated');
export const mnist = process.env.MNISTD_MNIST ?? join(root, 'data/mnist');
export const reference = join(root, 'tests/reference');

export function temporaryDirectory(context) {
  const directory = mkdtempSync(join(tmpdir(), 'mnistd-e2e-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// Resolves with the first truthy value of `probe`, or fails with `what` after `seconds`.
export async function until(what, probe, seconds = 60) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const value = await probe();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited ${seconds} s for ${what}`);
    await pause(20);
  }
}

// Runs to its end: {code, signal, stdout, stderr}. options: of spawn, with `program`, `input` and `seconds`.
export function run(args, options = {}) {
  const child = spawn(options.program ?? binary, args, { stdio: ['pipe', 'pipe', 'pipe'], ...options });
  const out = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) child[name].on('data', (bytes) => (out[name] += bytes));
  child.stdin.end(options.input ?? '');
  return new Promise((done, failed) => {
    child.on('error', failed);
    const timer = setTimeout(() => child.kill('SIGKILL'), (options.seconds ?? 120) * 1000);
    child.on('close', (code, signal) => (clearTimeout(timer), done({ code, signal, ...out })));
  });
}

export class Daemon {
  // Listens when this resolves. `args` are more flags of serve; without a dataset among them it is MNIST.
  static async start(context, args = [], dataDir = temporaryDirectory(context), program = binary) {
    const daemon = new Daemon();
    daemon.dataDir = dataDir;
    const portFile = join(dataDir, `port-${Date.now()}-${Math.random()}`);
    const dataset = args.includes('--dataset') ? [] : ['--dataset', `mnist=${mnist}`];
    daemon.child = spawn(program, ['serve', '--port', '0', '--port-file', portFile, '--data-dir', dataDir, ...dataset, ...args], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    daemon.log = '';
    daemon.child.stderr.on('data', (bytes) => (daemon.log += bytes));
    daemon.exit = new Promise((done) => daemon.child.on('close', (code, signal) => done({ code, signal })));
    daemon.exit.then(() => (daemon.ended = true));
    context.after(() => daemon.stop('SIGKILL'));
    await until('the daemon to listen', () => {
      if (daemon.ended) throw new Error(`the daemon ended at once:\n${daemon.log}`);
      return existsSync(portFile);
    });
    daemon.url = `http://127.0.0.1:${readFileSync(portFile, 'utf8').trim()}`;
    return daemon;
  }

  async stop(signal = 'SIGTERM') {
    if (!this.ended) this.child.kill(signal);
    return this.exit;
  }

  fetch(path, options) {
    return fetch(this.url + path, options);
  }
  async json(path, options) {
    return (await this.fetch(path, options)).json();
  }
  async text(path, options) {
    return (await this.fetch(path, options)).text();
  }
  async submit(spec) {
    const answer = await this.fetch('/v1/jobs', { method: 'POST', body: new URLSearchParams(spec) });
    if (answer.status !== 202) throw new Error(`POST /v1/jobs: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }
  job(id) {
    return this.json(`/v1/jobs/${id}`);
  }
  ended_job(id, seconds = 120) {
    return until(`job ${id} to end`, async () => {
      const job = await this.job(id);
      return ['succeeded', 'failed', 'cancelled'].includes(job.state) && job;
    }, seconds);
  }
  // Weights as bytes of the safetensors' tensors, without the header.
  async tensors(id) {
    const bytes = Buffer.from(await (await this.fetch(`/v1/models/${id}/weights`)).arrayBuffer());
    return bytes.subarray(8 + Number(bytes.readBigUInt64LE(0)));
  }
}
