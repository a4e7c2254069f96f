// The rows behind the charts: none twice, gaps kept, and a size that draws quickly.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const repository = fileURLToPath(new URL("../..", import.meta.url));
const { buildSync } = createRequire(join(repository, "web/package.json"))("esbuild");
const built = buildSync({
  entryPoints: [join(repository, "web/src/metrics_series.ts")],
  bundle: true,
  format: "esm",
  write: false,
});
const { MetricsSeries } = await import(`data:text/javascript,${encodeURIComponent(built.outputFiles[0].text)}`);

const row = (iteration) => ({ iteration, loss: 1 / iteration, trainAccuracy: 0.5, testAccuracy: 0.25 });
const rows = (first, last) => Array.from({ length: last - first + 1 }, (_, index) => row(first + index));

test("rows become columns, fractions become percents, null stays a gap", () => {
  const series = new MetricsSeries();
  series.add([row(1), { iteration: 2, loss: null, trainAccuracy: null, testAccuracy: 0.75 }]);
  assert.deepEqual(series.columns(), [[1, 2], [1, null], [50, null], [25, 75]]);
  assert.equal(series.lastIteration, 2);
});

test("a row that comes again is left out", () => {
  const series = new MetricsSeries();
  series.add(rows(1, 5));
  series.add(rows(3, 7));
  assert.deepEqual(series.columns()[0], [1, 2, 3, 4, 5, 6, 7]);
});

test("a long job is thinned evenly and keeps its first and its newest row", () => {
  const series = new MetricsSeries(64);
  for (let first = 1; first <= 10_000; first += 37) {
    series.add(rows(first, Math.min(first + 36, 10_000)));
  }
  const [iterations, losses] = series.columns();
  assert.ok(iterations.length > 32 && iterations.length <= 65, `${iterations.length} rows`);
  assert.equal(iterations[0], 1);
  assert.equal(iterations.at(-1), 10_000);
  const steps = new Set(iterations.slice(1, -1).map((iteration, index) => iteration - iterations[index]));
  assert.equal(steps.size, 1, `steps of ${[...steps]}`);
  assert.deepEqual(losses, iterations.map((iteration) => 1 / iteration));
});

test("nothing added: empty columns, asked for from the start", () => {
  const series = new MetricsSeries();
  assert.deepEqual(series.columns(), [[], [], [], []]);
  assert.equal(series.lastIteration, 0);
});
