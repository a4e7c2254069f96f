// What a kernel may take, and whether it keeps to it.
//
// No kernel may spill, use scratch memory, or hold a compare-and-swap loop, whichever compiler made it. Registers, LDS and
// occupancy, and what the hot loop is made of (assembly.mjs), are compared with a table that holds for one major version of clang: others allocate registers in their own way.
//
// Beside what holds today, a few hot loops have a promise to keep: they are what the kernel is about.

// Figures of the table; 1: more is worse, −1: less is worse.
const figures = { vgprs: 1, lds_bytes: 1, occupancy: -1, hot_fma: -1, hot_dot4: -1, scalar_words: -1 };
export const columns = ['kernel', ...Object.keys(figures)];

// Least figures, by kernel, whatever the table says and whichever compiler it is.
export const promises = {
  residual_4_scalar_kernel: { hot_fma: 850, scalar_words: 160 },
  residual_5_ping_pong_kernel: { hot_fma: 900, scalar_words: 640 },
  pass_2_fused_kernel: { hot_fma: 900, scalar_words: 160 },
  gradient_3_registers_kernel: { hot_fma: 850 },
};

export const line = (kernel) => columns.map((column) => kernel[column]).join(',');

// A table: "# clang 15", a head, a line a kernel. Names may hold commas, figures do not.
export function readTable(text) {
  const lines = text.split('\n').filter((row) => row.trim() !== '');
  const clang = Number(/^# clang (\d+)/.exec(lines[0] ?? '')?.[1]);
  if (!clang || lines[1] !== columns.join(',')) {
    throw new Error(`the table opens with "# clang 15" and "${columns.join(',')}", not with "${lines.slice(0, 2).join('" and "')}"`);
  }
  const rows = lines.slice(2).map((row) => {
    const found = new RegExp(`^(.+)${',(\\d+)'.repeat(columns.length - 1)}$`).exec(row);
    if (!found) throw new Error(`not a line of the table: "${row}"`);
    return Object.fromEntries(columns.map((column, i) => [column, i === 0 ? found[1] : Number(found[i + 1])]));
  });
  return { clang, rows };
}

// {problems, notes}: lines that say what is wrong, and what got better than the table has it.
export function judge(kernels, table, clangMajor) {
  const problems = [];
  const notes = [];
  const exact = clangMajor === table.clang;
  if (!exact) notes.push(`clang ${clangMajor} is here, the table is of clang ${table.clang}: only spills, scratch, atomics and promises are judged`);
  for (const kernel of kernels) {
    const where = `${kernel.source}: ${kernel.kernel}`;
    if (kernel.spills > 0) problems.push(`${where} spills ${kernel.spills} registers`);
    if (kernel.scratch_bytes > 0) problems.push(`${where} uses ${kernel.scratch_bytes} bytes of scratch memory a thread`);
    if (kernel.loops.length > 0) problems.push(`${where} holds ${kernel.loops.join(', ')}: a loop, as gfx906 makes of an atomic operation on floats`);
    for (const [figure, least] of Object.entries(promises[kernel.kernel] ?? {})) {
      if (!(kernel[figure] >= least)) problems.push(`${where}: ${figure} ${kernel[figure]}, where at least ${least} is promised`);
    }
    const row = table.rows.find((candidate) => candidate.kernel === kernel.kernel);
    if (!row) {
      problems.push(`${where} has no line in the table; if all is well with it, add:\n${line(kernel)}`);
      continue;
    }
    if (!exact) continue;
    for (const [figure, sign] of Object.entries(figures)) {
      const change = sign * (kernel[figure] - row[figure]);
      const found = `${where}: ${figure} ${kernel[figure]}, the table has ${row[figure]}`;
      if (change > 0) problems.push(`${found}; if that is meant, change its line to:\n${line(kernel)}`);
      if (change < 0) notes.push(`${found}: better; change its line to:\n${line(kernel)}`);
    }
  }
  for (const row of table.rows) {
    if (!kernels.some((kernel) => kernel.kernel === row.kernel)) problems.push(`the table has ${row.kernel}, which no source has`);
  }
  return { problems, notes };
}
