// The metrics rows of one job as columns to draw, kept to a size that draws quickly.
//
// A job may report a million iterations. Once more than `limit` rows are kept, every second one is dropped and from then
// on only every second new one is taken, and so on: the chart stays even over the whole run. The newest row is always
// shown, whether it is one of those to keep or not.
import type { MetricsRow } from "./api";

export type MetricsColumns = [
  iteration: number[],
  loss: (number | null)[],
  trainPercent: (number | null)[],
  testPercent: (number | null)[],
];

export class MetricsSeries {
  readonly #limit: number;
  #kept: MetricsRow[] = [];
  #stride = 1;
  #seen = 0;
  #last: MetricsRow | null = null;

  constructor(limit = 4096) {
    this.#limit = limit;
  }

  /** The row that was added last. */
  get last(): MetricsRow | null {
    return this.#last;
  }

  /** The iteration after which rows are missing: what to ask for as `since`. */
  get lastIteration(): number {
    return this.#last?.iteration ?? 0;
  }

  /** Adds rows in ascending order; one that is there already is left out. */
  add(rows: readonly MetricsRow[]): void {
    for (const row of rows) {
      if (row.iteration <= this.lastIteration) {
        continue;
      }
      if (this.#seen % this.#stride === 0) {
        this.#kept.push(row);
      }
      this.#seen += 1;
      this.#last = row;
      if (this.#kept.length > this.#limit) {
        this.#kept = this.#kept.filter((_, index) => index % 2 === 0);
        this.#stride *= 2;
      }
    }
  }

  columns(): MetricsColumns {
    const rows = this.#kept.slice();
    if (this.#last !== null && rows.at(-1) !== this.#last) {
      rows.push(this.#last);
    }
    const toPercent = (fraction: number | null) => (fraction === null ? null : fraction * 100);
    return [
      rows.map((row) => row.iteration),
      rows.map((row) => row.loss),
      rows.map((row) => toPercent(row.trainAccuracy)),
      rows.map((row) => toPercent(row.testAccuracy)),
    ];
  }
}
