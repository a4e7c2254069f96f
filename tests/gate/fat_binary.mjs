// The device code inside a program: bundles that hipcc's clang puts into it, one a source file, each with an object for every
// architecture. Layout: https://clang.llvm.org/docs/ClangOffloadBundler.html
const magic = Buffer.from('__CLANG_OFFLOAD_BUNDLE__');

// [{id: 'hipv4-amdgcn-amd-amdhsa--gfx906', code: Buffer}], also of no length (the host's, always).
function bundleAt(program, start) {
  const entries = [];
  let at = start + magic.length;
  const count = Number(program.readBigUInt64LE(at));
  at += 8;
  for (let i = 0; i < count; i++) {
    const [offset, size, length] = [0, 8, 16].map((field) => Number(program.readBigUInt64LE(at + field)));
    at += 24;
    entries.push({ id: program.toString('latin1', at, at + length), code: program.subarray(start + offset, start + offset + size) });
    at += length;
  }
  return entries;
}

export function deviceObjects(program) {
  const objects = [];
  for (let at = program.indexOf(magic); at >= 0; at = program.indexOf(magic, at + 1)) objects.push(...bundleAt(program, at));
  return objects.filter((object) => object.code.length > 0);
}
