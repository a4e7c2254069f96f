// Every kernel, compiled for gfx906: no spills, no scratch memory, no compare-and-swap loops, and within the table. The
// gate itself is tried on kernels that must not pass.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import test, { before, describe } from 'node:test';
import { compile, compilerVersion, hotLoopOf, root } from './assembly.mjs';
import { columns, judge, line, promises, readTable } from './budget.mjs';
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

test('every promise is of a kernel that there is', async () => {
  const kernels = (await compiled).map(({ kernel }) => kernel);
  for (const name of Object.keys(promises)) assert.ok(kernels.includes(name), name);
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
    const [found] = named('wide_kernel<40, 64>');
    assert.ok(found.vgprs > 40 && found.lds_bytes === 10240 && found.occupancy < 10);
    const row = (changes) => verdict(found.kernel, line({ ...found, ...changes }));
    assert.match(row({ vgprs: found.vgprs - 1 }).problems[0], /vgprs/);
    assert.match(row({ lds_bytes: found.lds_bytes - 4 }).problems[0], /lds_bytes/);
    assert.match(row({ occupancy: found.occupancy + 1 }).problems[0], /occupancy/);
    const better = row({ vgprs: found.vgprs + 1, lds_bytes: found.lds_bytes + 4, occupancy: found.occupancy - 1 });
    assert.equal(better.problems.length, 0);
    assert.equal(better.notes.length, 3);
    assert.ok(better.notes.every((note) => note.endsWith(`change its line to:\n${line(found)}`)));
  });

  test('reads the hot loop: the innermost with the most work', () => {
    const loop = (label, ...body) => [`.${label}:`, ...body.map((text) => `\t${text}`), `\ts_cbranch_scc1 .${label}`];
    const inner = loop('LBB0_2', 's_load_dwordx16 s[8:23], s[2:3], 0x0', 's_load_dword s4, s[2:3], 0x40 ; v_fma_f32', 'v_fma_f32 v0, s8, v1, v0',
                       'v_fmac_f32_e32 v0, s9, v1', 'v_dot4_u32_u8 v2, v3, v4, v2', 'v_cvt_f32_ubyte0_e32 v1, v5');
    const around = loop('LBB0_1', ...Array(9).fill('v_mac_f32_e32 v0, v1, v2'), '');
    const outer = [...around.slice(0, -1), ...inner, ...around.slice(-1)];
    const small = loop('LBB0_3', 'v_fma_f32 v0, s8, v1, v0');
    const code = ['kernel:', ...small, ...outer, '\ts_cbranch_execz .LBB0_9', '\tv_fma_f32 v0, v1, v2, v3', '.LBB0_9:', '\ts_endpgm'].join('\n');
    assert.deepEqual(hotLoopOf(code), { hot_fma: 500, hot_dot4: 250, scalar_words: 17 });
    assert.deepEqual(hotLoopOf('kernel:\n\tv_fma_f32 v0, v1, v2, v3\n\ts_endpgm'), { hot_fma: 0, hot_dot4: 0, scalar_words: 0 });
  });

  test('finds a hot loop that multiplies less, and operands that left the scalar registers', () => {
    const [good] = named('hot_loop_kernel<true>');
    const [bad] = named('hot_loop_kernel<false>');
    assert.ok(good.hot_fma >= 850 && good.scalar_words >= 40, line(good));
    assert.deepEqual(verdict(good.kernel), { problems: [], notes: [] });
    const { problems } = verdict(bad.kernel, line({ ...good, kernel: bad.kernel, vgprs: 256, occupancy: 1 }));
    assert.match(problems.join(), /hot_fma \d+, the table has/);
    assert.match(problems.join(), /scalar_words \d+, the table has/);
    const [bytes] = named('hot_bytes_kernel');
    assert.ok(bytes.hot_dot4 > 0 && bytes.hot_fma === 0, line(bytes));
    assert.match(verdict(bytes.kernel, line({ ...bytes, hot_dot4: bytes.hot_dot4 + 1 })).problems[0], /hot_dot4/);
  });

  test('holds kernels to their promises, whatever the table and the compiler', () => {
    const [kernel, least] = Object.entries(promises)[0];
    const kept = { ...named('hot_loop_kernel<true>')[0], kernel, ...least };
    assert.equal(judge([kept], table(line(kept)), clang).problems.length, 0);
    const broken = { ...kept, hot_fma: least.hot_fma - 1 };
    assert.match(judge([broken], table(line(broken)), clang + 1).problems[0], /is promised/);
  });

  test('wants a line for each kernel and a kernel for each line', () => {
    assert.match(verdict('integer_atomic_kernel', '').problems[0], /no line in the table/);
    const { problems } = judge([], table('gone_kernel,1,0,10,0,0,0'), clang);
    assert.deepEqual(problems, ['the table has gone_kernel, which no source has']);
    assert.throws(() => readTable('kernel,vgprs\n'), /opens with/);
    assert.throws(() => table('gone_kernel,1,0'), /not a line/);
  });

  test('judges figures only by the compiler that they are of', () => {
    const other = judge(named('wide_kernel<40, 64>'), table('wide_kernel<40, 64>,1,0,10,0,0,0'), clang + 1);
    assert.equal(other.problems.length, 0);
    assert.match(other.notes[0], /only spills, scratch, atomics and promises/);
    assert.equal(judge(named('spills_kernel'), table('spills_kernel,1,0,10,0,0,0'), clang + 1).problems.length, 2);
  });
});
