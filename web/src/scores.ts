// Ten scores as a small bar chart in a table. Scores are not probabilities: they may be below 0 and above 1.
import type { Prediction } from "./api";
import { create, find } from "./dom";

export class Scores {
  readonly #table = find("scores", HTMLTableElement);
  readonly #body = find("score-rows", HTMLTableSectionElement);

  /** null: no prediction to show. */
  show(prediction: Prediction | null): void {
    this.#table.hidden = prediction === null;
    if (prediction === null) {
      this.#body.replaceChildren();
      return;
    }
    const low = Math.min(0, ...prediction.scores);
    const high = Math.max(1, ...prediction.scores);
    const at = (score: number) => (100 * (score - low)) / (high - low);
    this.#body.replaceChildren(
      ...prediction.scores.map((score, digit) => this.#row(prediction, digit, at(Math.min(0, score)), at(Math.max(0, score)))),
    );
  }

  #row(prediction: Prediction, digit: number, from: number, to: number): HTMLTableRowElement {
    const row = create("tr");
    const bar = create("div", "bar");
    bar.style.marginLeft = `${from}%`;
    bar.style.width = `${to - from}%`;
    const track = create("td", "track");
    track.append(bar);
    const name = create("th", "", String(digit));
    name.scope = "row";
    const notes: string[] = [];
    if (digit === prediction.label) {
      row.className = digit === prediction.truth ? "right" : "wrong";
      notes.push("predicted");
    }
    if (digit === prediction.truth) {
      notes.push("truth");
    }
    row.append(
      name,
      track,
      create("td", "number", (prediction.scores[digit] ?? 0).toFixed(3)),
      create("td", "note", notes.join(", ")),
    );
    return row;
  }
}
