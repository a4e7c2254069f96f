// A line chart against the iteration: uPlot, in the page's colours, as wide as its place.
import uPlot from "uplot";

import { count } from "./format";

export interface Line {
  label: string;
  /** The CSS custom property that holds its colour. */
  colour: string;
  /** Lines differ by their dashes too, not by colour alone. */
  dash?: number[];
  /** Drawn over gaps, for a line that has not a value in every row. */
  spanGaps?: boolean;
}

const height = 220;
const font = '12px system-ui, "Liberation Sans", sans-serif';

/** The loss of a diverging job grows beyond what fits beside an axis. */
function short(tick: number): string {
  return Math.abs(tick) >= 1e5 ? tick.toExponential() : count(tick);
}

export class Chart {
  readonly #host: HTMLElement;
  readonly #lines: Line[];
  readonly #format: (value: number) => string;
  #data: uPlot.AlignedData;
  #plot: uPlot;

  constructor(host: HTMLElement, lines: Line[], format: (value: number) => string) {
    this.#host = host;
    this.#lines = lines;
    this.#format = format;
    this.#data = [[], ...lines.map(() => [])] as unknown as uPlot.AlignedData;
    this.#plot = this.#build();
    new ResizeObserver(() => this.#fit()).observe(host);
    // uPlot reads its colours once, so another colour scheme means another plot.
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.#plot.destroy();
      this.#plot = this.#build();
      this.draw(this.#data);
    });
  }

  /** The first column is the iteration, then one column a line; null leaves a gap. */
  draw(data: uPlot.AlignedData): void {
    this.#data = data;
    this.#plot.setData(data);
    this.#host.dataset["points"] = String(Array.from(data[1] ?? []).filter((value) => value != null).length);
    this.#showNewest();
  }

  #build(): uPlot {
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    const axis: uPlot.Axis = {
      font,
      stroke: colour("--quiet"),
      grid: { stroke: colour("--line"), width: 1 },
      ticks: { stroke: colour("--line"), width: 1, size: 4 },
    };
    // uPlot asks with undefined where the legend's row is one of longer data shown before.
    const shown = (value: number | null | undefined, format: (value: number) => string) =>
      value == null ? "–" : format(value);
    return new uPlot(
      {
        width: Math.max(this.#host.clientWidth, 100),
        height,
        scales: { x: { time: false } },
        axes: [
          { ...axis, size: 28, space: 60, values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? count(tick) : "")) },
          { ...axis, size: 52, space: 32, values: (_, ticks) => ticks.map(short) },
        ],
        series: [
          { label: "Iteration", value: (_, value) => shown(value, count) },
          ...this.#lines.map(
            (line): uPlot.Series => ({
              label: line.label,
              stroke: colour(line.colour),
              width: 1.75,
              // Markers would cover the dashes; a single row has no line to show.
              points: { show: (plot) => plot.data[0].length < 3 },
              value: (_, value) => shown(value, this.#format),
              ...(line.dash ? { dash: line.dash } : {}),
              spanGaps: line.spanGaps ?? false,
            }),
          ),
        ],
        cursor: { drag: { x: false, y: false }, sync: { key: "metrics" } },
        hooks: { setCursor: [() => this.#showNewest()] },
      },
      this.#data,
      this.#host,
    );
  }

  /** While nothing is pointed at, the legend shows the newest row of the first line. */
  #showNewest(): void {
    const first = this.#data[1] ?? [];
    let newest = this.#data[0].length - 1;
    while (newest > 0 && first[newest] == null) {
      newest -= 1;
    }
    if (this.#plot && this.#plot.cursor.idx == null && newest >= 0) {
      this.#plot.setLegend({ idx: newest }, false);
    }
  }

  #fit(): void {
    const width = this.#host.clientWidth;
    if (width > 0 && width !== this.#plot.width) {
      this.#plot.setSize({ width, height });
      this.#showNewest();
    }
  }
}
