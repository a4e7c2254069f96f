// Compiles kernels for gfx906 as gpu/hip/amd does, to assembly, and reads from it what each kernel takes.
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const hipcc = process.env.HIPCC ?? 'hipcc';

// The version of hipcc's clang, such as 15.0.6.
export function compilerVersion() {
  const { stdout = '' } = spawnSync(hipcc, ['--version'], { encoding: 'utf8' });
  return /clang version (\d+\.\d+\.\d+)/.exec(stdout)?.[1];
}

async function assemblyOf(source, directory) {
  const flags = readFileSync(join(root, 'gpu/hip/amd/kernel.flags'), 'utf8').trim().split('\n');
  const assembly = join(directory, `${basename(source)}.s`);
  // hipcc hands libraries over also where nothing is linked.
  const only = ['--offload-arch=gfx906', '--cuda-device-only', '-S', '-Wno-unused-command-line-argument'];
  await promisify(execFile)(hipcc, [...flags, `-I${root}`, ...only, source, '-o', assembly]);
  return readFileSync(assembly, 'utf8');
}

// "tile_kernel<4, 8>" of a mangled name; namespaces and parameters say nothing here.
function plainNames(mangled) {
  const { stdout, error } = spawnSync('c++filt', ['-p'], { encoding: 'utf8', input: mangled.join('\n') });
  if (error) throw new Error(`c++filt, which comes with g++, cannot be run: ${error.message}`);
  return stdout.trim().split('\n').map((name) => name.replace(/^void /, '').replace(/^(?:[\w]+::)+/, ''));
}

const number = (text, pattern, what) => {
  const found = pattern.exec(text);
  if (!found) throw new Error(`the assembly does not say ${what}: another compiler than this was written for?`);
  return Number(found[1]);
};

// Of a kernel's own code, from its label to its end; what it calls is inlined or a function of its own, for which the last
// kernel before it answers.
const loopsIn = (code) => [...new Set(code.match(/\b(?:(?:global|flat|buffer)_atomic_f?cmpswap\w*|ds_cmpst\w*)/g))];

// How many times an instruction stands in the blocks that branch back to themselves, the innermost loops: the most of any.
export function inTightestLoop(code, instruction) {
  const blocks = code.split(/^(?=\.LBB\d+_\d+:)/m).flatMap((block) => {
    const label = /^(\.LBB\d+_\d+):/.exec(block)?.[1];
    const back = label && new RegExp(`^\\s+s_c?branch\\w* ${label.replace('.', '\\.')}$`, 'm').exec(block);
    return back ? [block.slice(0, back.index)] : [];
  });
  return Math.max(0, ...blocks.map((block) => block.match(new RegExp(`^\\s+${instruction}\\b`, 'gm'))?.length ?? 0));
}

// The instructions of a kernel in their order, and where its labels are: {names: ['v_fma_f32', …], targets, labels}.
function instructionsOf(code) {
  const names = [];
  const branches = [];  // [from, label]
  const labels = new Map();
  for (const text of code.split('\n')) {
    const row = text.replace(/;.*/, '');
    const label = /^(\.\w+):/.exec(row)?.[1];
    if (label) labels.set(label, names.length);
    const [, name, operand] = /^\s+([a-z]\w*)\s*(\.\w+)?/.exec(row) ?? [];
    if (!name) continue;
    if (/^s_c?branch/.test(name)) branches.push([names.length, operand]);
    names.push(name);
  }
  return { names, branches, labels };
}

const perMille = (part, whole) => (whole === 0 ? 0 : Math.floor((1000 * part) / whole));

// Of the innermost loop that has the most multiply-adds and products of bytes: how many of a thousand vector instructions
// are multiply-adds of floats (hot_fma) and products of four bytes (hot_dot4), and how many words it loads through the scalar
// cache. A loop is what a branch goes back over; innermost, if no other lies within. All 0 where there is no loop.
export function hotLoopOf(code) {
  const { names, branches, labels } = instructionsOf(code);
  const loops = branches.map(([end, label]) => [labels.get(label), end]).filter(([begin, end]) => begin <= end);
  const within = (inner, outer) => inner !== outer && inner[0] >= outer[0] && inner[1] <= outer[1];
  const figures = loops
    .filter((loop) => !loops.some((other) => within(other, loop)))
    .map(([begin, end]) => {
      const body = names.slice(begin, end + 1);
      const count = (pattern) => body.filter((name) => pattern.test(name)).length;
      const vector = count(/^v_/);
      const fma = count(/^v_(?:fma|fmac|mac|mad)_f32/);
      const dot4 = count(/^v_dot4_/);
      const words = body.map((name) => /^s_(?:buffer_)?load_dword(?:x(\d+))?/.exec(name)).filter(Boolean);
      const scalar_words = words.reduce((sum, [, width]) => sum + Number(width ?? 1), 0);
      return { work: fma + dot4, hot_fma: perMille(fma, vector), hot_dot4: perMille(dot4, vector), scalar_words };
    });
  const hottest = figures.reduce((best, loop) => (loop.work > best.work ? loop : best), { work: 0, hot_fma: 0, hot_dot4: 0, scalar_words: 0 });
  const { hot_fma, hot_dot4, scalar_words } = hottest;
  return { hot_fma, hot_dot4, scalar_words };
}

export function kernelsIn(assembly) {
  const metadata = /\.amdgpu_metadata\n([^]*?)\.end_amdgpu_metadata/.exec(assembly)?.[1] ?? '';
  const entries = metadata.split(/^  - (?=\.)/m).slice(1);
  const mangled = entries.map((entry) => /^ *\.name: +'?([\w.$]+)/m.exec(entry)[1]);
  const starts = mangled.map((name) => assembly.indexOf(`\n${name}:`));
  const names = mangled.length > 0 ? plainNames(mangled) : [];
  return entries.map((entry, i) => {
    const field = (name) => number(entry, new RegExp(`^ *\\.${name}: +(\\d+)`, 'm'), `${name} of ${names[i]}`);
    const next = Math.min(...starts.filter((start) => start > starts[i]), assembly.length);
    const code = assembly.slice(starts[i], next);
    return {
      kernel: names[i],
      symbol: mangled[i],
      vgprs: field('vgpr_count'),
      lds_bytes: field('group_segment_fixed_size'),
      occupancy: number(code, /^; Occupancy: (\d+)/m, `the occupancy of ${names[i]}`),
      scratch_bytes: field('private_segment_fixed_size'),
      spills: field('vgpr_spill_count') + field('sgpr_spill_count'),
      loops: loopsIn(code),
      dot4: inTightestLoop(code, 'v_dot4_u32_u8'),
      past_cache: code.match(/^\s+global_load_dwordx2 .*\bglc\b/gm)?.length ?? 0,
      ...hotLoopOf(code),
    };
  });
}

// The kernels of all sources, two compilers at a time.
export async function compile(sources) {
  const directory = mkdtempSync(join(tmpdir(), 'mnistd-gate-'));
  const waiting = [...sources];
  const kernels = [];
  const work = async () => {
    for (let source = waiting.shift(); source; source = waiting.shift()) {
      const found = kernelsIn(await assemblyOf(source, directory));
      kernels.push(...found.map((kernel) => ({ ...kernel, source: basename(source) })));
    }
  };
  try {
    await Promise.all([work(), work()]);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  return kernels.sort((left, right) => (left.kernel < right.kernel ? -1 : 1));
}
