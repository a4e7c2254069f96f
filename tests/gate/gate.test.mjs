// Every kernel, compiled for gfx906: no spills, no scratch memory, no compare-and-swap loops, and within the table. The
// gate itself is tried on kernels that must not pass.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import test, { before, describe } from 'node:test';
import { compile, compilerVersion, root } from './assembly.mjs';
import { columns, judge, line, readTable } from './budget.mjs';
import { deviceObjects } from './fat_binary.mjs';

const here = join(root, 'tests/gate');
const folder = join(root, 'gpu/kernels');
// The names in a list of gpu/hip/sources.cmake, as files.
const listed = (variable) => {
  const list = new RegExp(`set\\(${variable} ([^)]*)\\)`).exec(readFileSync(join(root, 'gpu/hip/sources.cmake'), 'utf8'))[1];
  return list.trim().split(/\s+/).map((name) => `${name}.hip`).sort();
};
const notForAmd = listed('MNISTD_HIP_MATRIX_KERNELS');
const sources = readdirSync(folder).filter((name) => name.endsWith('.hip') && !notForAmd.includes(name)).sort();
const version = compilerVersion();
const clang = parseInt(version, 10);
const table = (text) => readTable(`# clang ${clang}\n${columns.join(',')}\n${text}`);
const compiled = compile(sources.map((name) => join(folder, name)));

test('every kernel keeps to the table', async (t) => {
  assert.ok(version, 'hipcc does not say its version of clang');
  const kernels = await compiled;
  const { problems, notes } = judge(kernels, readTable(readFileSync(join(here, 'gfx906.csv'), 'utf8')), clang);
  const said = [...notes, `clang ${version}: ${kernels.length} kernels`, ...kernels.map(line)];
  for (const text of said.flatMap((lines) => lines.split('\n'))) t.diagnostic(text);
  assert.equal(problems.join('\n'), '');
});

test('products of bytes are made by the instruction for them, in the loop that counts', async () => {
  const dot4 = Object.fromEntries((await compiled).filter((kernel) => kernel.dot4 > 0).map((kernel) => [kernel.kernel, kernel.dot4]));
  assert.ok(dot4.gram_2_dot4_kernel >= 49, `gram_2_dot4_kernel has ${dot4.gram_2_dot4_kernel ?? 0} v_dot4_u32_u8 in its tightest loops`);
});

test('what blocks hand to one another is loaded past the cache that they do not share', async () => {
  const cooperative = (await compiled).filter((kernel) => kernel.kernel.startsWith('gram_step_3_cooperative_kernel'));
  assert.equal(cooperative.length, 2);
  for (const { kernel, past_cache } of cooperative) assert.ok(past_cache >= 5, `${kernel} has ${past_cache} such loads`);
});

test('every source is built and has a kernel', async () => {
  const kernels = await compiled;
  assert.deepEqual(listed('MNISTD_HIP_KERNELS'), sources);
  assert.deepEqual([...new Set(kernels.map((kernel) => kernel.source))].sort(), sources);
});

test('the program carries gfx906 code of every kernel', async (t) => {
  const { MNISTD_BINARY: binary, MNISTD_HIP_LIBRARY: library } = process.env;
  if (library !== 'mnistd_hip_amd') return t.skip(`the program is built with ${library ?? 'no HIP device that we know of'}`);
  const program = readFileSync(binary);
  if (program.includes('CCOB')) return t.skip('the device code is compressed: roc-obj-ls lists it');
  const objects = deviceObjects(program).filter((object) => object.id.endsWith('gfx906'));
  assert.equal(objects.length, sources.length, 'one object a source');
  for (const { symbol } of await compiled) {
    assert.ok(objects.some((object) => object.code.includes(`${symbol}.kd\0`)), `no object has ${symbol}`);
  }
});

describe('the gate', () => {
  let planted;
  const named = (name) => planted.filter((kernel) => kernel.kernel === name);
  const verdict = (name, rows) => judge(named(name), table(rows ?? named(name).map(line).join('\n')), clang);
  before(async () => (planted = await compile([join(here, 'planted/faults.hip')])));

  test('finds spilt registers', () => assert.match(verdict('spills_kernel').problems[0], /spills \d+ registers/));
  test('finds scratch memory', () => assert.match(verdict('scratch_kernel').problems[0], /uses \d+ bytes of scratch/));
  test('finds the loop of an atomic addition of floats', () => {
    assert.match(verdict('float_atomic_kernel').problems.join(), /float_atomic_kernel holds global_atomic_cmpswap/);
    assert.match(verdict('double_atomic_kernel').problems.join(), /holds global_atomic_cmpswap_x2/);
  });
  test('lets integers be added', () => assert.deepEqual(verdict('integer_atomic_kernel'), { problems: [], notes: [] }));
  test('lets pass what the table has', () => assert.deepEqual(verdict('wide_kernel<40, 64>'), { problems: [], notes: [] }));

  test('finds what got worse, and tells what got better', () => {
    const [{ kernel, vgprs, lds_bytes, occupancy }] = named('wide_kernel<40, 64>');
    assert.ok(vgprs > 40 && lds_bytes === 10240 && occupancy < 10);
    const row = (...figures) => verdict(kernel, [kernel, ...figures].join(','));
    assert.match(row(vgprs - 1, lds_bytes, occupancy).problems[0], /vgprs/);
    assert.match(row(vgprs, lds_bytes - 4, occupancy).problems[0], /lds_bytes/);
    assert.match(row(vgprs, lds_bytes, occupancy + 1).problems[0], /occupancy/);
    const better = row(vgprs + 1, lds_bytes + 4, occupancy - 1);
    assert.equal(better.problems.length, 0);
    assert.equal(better.notes.length, 3);
    assert.ok(better.notes.every((note) => note.endsWith(`change its line to:\n${kernel},${vgprs},${lds_bytes},${occupancy}`)));
  });

  test('wants a line for each kernel and a kernel for each line', () => {
    assert.match(verdict('integer_atomic_kernel', '').problems[0], /no line in the table/);
    const { problems } = judge([], table('gone_kernel,1,0,10'), clang);
    assert.deepEqual(problems, ['the table has gone_kernel, which no source has']);
    assert.throws(() => readTable('kernel,vgprs\n'), /opens with/);
    assert.throws(() => table('gone_kernel,1,0'), /not a line/);
  });

  test('judges figures only by the compiler that they are of', () => {
    const other = judge(named('wide_kernel<40, 64>'), table('wide_kernel<40, 64>,1,0,10'), clang + 1);
    assert.equal(other.problems.length, 0);
    assert.match(other.notes[0], /only spills, scratch and atomics/);
    assert.equal(judge(named('spills_kernel'), table('spills_kernel,1,0,10'), clang + 1).problems.length, 2);
  });
});
