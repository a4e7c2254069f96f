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
