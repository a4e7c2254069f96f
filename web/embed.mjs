// node embed.mjs DIST OUTPUT.cpp: writes every file below DIST into one C++ source that defines mnistd::web::assets().
//
// The bytes become string literals, which a compiler reads some hundred times faster than a list of numbers.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { extname, join, posix } from "node:path";

const contentTypes = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
  ".txt": "text/plain; charset=utf-8",
};

function filesBelow(folder, prefix = "/") {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory()
      ? filesBelow(join(folder, entry.name), posix.join(prefix, entry.name))
      : [{ path: posix.join(prefix, entry.name), file: join(folder, entry.name) }],
  );
}

// Three octal digits always, so that a digit that follows cannot join the escape; `?` too, for trigraphs.
function escapeByte(byte) {
  const plain = byte >= 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x5c && byte !== 0x3f;
  return plain ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, "0")}`;
}

function literal(bytes) {
  const lines = [];
  for (let start = 0; start < bytes.length; start += 100) {
    lines.push(`    "${Array.from(bytes.subarray(start, start + 100), escapeByte).join("")}"`);
  }
  return lines.length > 0 ? lines.join("\n") : '    ""';
}

const [dist, output] = process.argv.slice(2);
if (!dist || !output) {
  console.error("usage: node embed.mjs DIST OUTPUT.cpp");
  process.exit(2);
}

const files = filesBelow(dist).sort((a, b) => (a.path < b.path ? -1 : 1));
if (!files.some(({ path }) => path === "/index.html")) {
  console.error(`embed.mjs: no index.html in ${dist}: has \`npm run build\` run?`);
  process.exit(1);
}

const arrays = [];
const rows = [];
files.forEach(({ path, file }, index) => {
  const type = contentTypes[extname(path)];
  if (!type) {
    console.error(`embed.mjs: no content type is known for ${path}: add it to contentTypes`);
    process.exit(1);
  }
  const bytes = readFileSync(file);
  const etag = createHash("sha256").update(bytes).digest("hex").slice(0, 16);
  // Vite puts what it hashes into assets/ as name-hash.ext; public/ keeps its names.
  const immutable = /^\/assets\/.+-[\w-]{8}\.\w+$/.test(path);
  arrays.push(`// ${path}\nconstexpr char file_${index}[] =\n${literal(bytes)};`);
  rows.push(`    {${JSON.stringify(path)}, ${JSON.stringify(type)}, {file_${index}, ${bytes.length}}, "\\"${etag}\\"", ${immutable}},`);
});

const source = `// Written by web/embed.mjs from the built dashboard; edit web/src/ instead.
#include "web/assets.h"

#if defined(__clang__)
#pragma clang diagnostic ignored "-Woverlength-strings"
#endif

namespace mnistd::web {
namespace {

${arrays.join("\n\n")}

constexpr Asset all_assets[] = {
${rows.join("\n")}
};

}  // namespace

std::span<const Asset> assets() { return all_assets; }

}  // namespace mnistd::web
`;
writeFileSync(`${output}.new`, source);
renameSync(`${output}.new`, output);
