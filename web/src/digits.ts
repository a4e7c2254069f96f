// Test digits to leaf through: as ASCII like in the terminal, as a picture, with the active model's scores.
//
// Moving is quick and answers are slow, so each move aborts what the one before still waits for. Which digits are wrong
// depends on the active model: the list is read when asked for, and again once the model has changed.
import { ApiError, digitPicture, digitText, getDataset, predictDigit, wrongDigits, type Prediction } from "./api";
import { find, setText } from "./dom";
import { count } from "./format";
import { Scores } from "./scores";

const dataset = "mnist";
const pictureScale = 10;
const noModel = "No model yet: start a training, and what it predicts appears here.";

export class Digits {
  readonly #index = find("digit-index", HTMLInputElement);
  readonly #onlyWrong = find("digit-wrong", HTMLInputElement);
  readonly #note = find("digit-note", HTMLElement);
  readonly #ascii = find("digit-ascii", HTMLPreElement);
  readonly #picture = find("digit-picture", HTMLImageElement);
  readonly #verdict = find("digit-verdict", HTMLElement);
  readonly #scores = new Scores();
  #current = 0;
  #total: number | null = null;
  #wrong: number[] | null = null;
  #modelId: string | null = null;
  #abort = new AbortController();

  constructor() {
    const on = (id: string, act: () => Promise<void>) =>
      find(id, HTMLButtonElement).addEventListener("click", () => void act());
    on("digit-previous", () => this.#move(-1));
    on("digit-next", () => this.#move(1));
    on("digit-random", () => this.#random());
    this.#ascii.addEventListener("keydown", (event) => {
      if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
        event.preventDefault();
        void this.#move(event.key === "ArrowLeft" ? -1 : 1);
      }
    });
    find("digit-form", HTMLFormElement).addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#typed();
    });
    this.#onlyWrong.addEventListener("change", () => void this.#onlyWrongChanged());
    void this.refresh();
  }

  /** Shows the digit again: another model may be active. */
  async refresh(): Promise<void> {
    await this.#show(this.#current);
  }

  async #show(index: number): Promise<void> {
    this.#current = index;
    this.#index.value = String(index);
    this.#abort.abort();
    const { signal } = (this.#abort = new AbortController());
    try {
      this.#total ??= (await getDataset(dataset)).splits.test;
      const text = await digitText(dataset, index, signal);
      // The text says whether a model is active, so that none is asked in vain.
      const prediction = text.includes("PREDICTION:") ? await predictDigit(dataset, index, signal) : null;
      if (!signal.aborted) {
        this.#showDigit(index, text, prediction);
      }
    } catch (error) {
      if (!signal.aborted) {
        this.#showProblem(error);
      }
    }
  }

  #showDigit(index: number, text: string, prediction: Prediction | null): void {
    setText(this.#ascii, text.replace(/\n+$/, ""));
    this.#picture.src = digitPicture(dataset, index, pictureScale);
    this.#picture.alt = `Test digit ${index} as a picture`;
    this.#picture.hidden = false;
    this.#scores.show(prediction);
    this.#showNote();
    if (prediction === null) {
      this.#modelId = null;
      this.#wrong = null;
      delete this.#verdict.dataset["verdict"];
      setText(this.#verdict, noModel);
      setText(find("digit-model", HTMLElement), "");
      this.#ascii.setAttribute("aria-label", `Test digit ${index} drawn in ASCII`);
      return;
    }
    if (prediction.model_id !== this.#modelId) {
      this.#modelId = prediction.model_id;
      this.#wrong = null;
      if (this.#onlyWrong.checked) {
        void this.#readWrong();
      }
    }
    const right = prediction.label === prediction.truth;
    this.#verdict.dataset["verdict"] = right ? "right" : "wrong";
    setText(
      this.#verdict,
      right ? `✓ right: ${prediction.label}` : `✕ wrong: predicted ${prediction.label}, is ${prediction.truth}`,
    );
    setText(find("digit-model", HTMLElement), `margin ${prediction.margin.toFixed(3)} · model ${prediction.model_id}`);
    this.#ascii.setAttribute(
      "aria-label",
      `Test digit ${index} drawn in ASCII, truth ${prediction.truth}, prediction ${prediction.label}`,
    );
  }

  #showNote(): void {
    const all = this.#total === null ? "" : `0 – ${count(this.#total - 1)}`;
    if (!this.#onlyWrong.checked) {
      setText(this.#note, all);
    } else if (this.#wrong !== null) {
      const place = this.#wrong.indexOf(this.#current);
      const of = `${count(this.#wrong.length)} wrong digits`;
      setText(this.#note, place < 0 ? of : `${count(place + 1)} of ${of}`);
    } else if (this.#modelId === null) {
      setText(this.#note, noModel);
    }
  }

  #showProblem(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    const noneActive = error instanceof ApiError && error.status === 409;
    setText(this.#note, noneActive ? noModel : message);
  }

  async #move(step: 1 | -1): Promise<void> {
    if (this.#onlyWrong.checked && this.#wrong !== null) {
      const wrong = this.#wrong;
      const next = step > 0 ? wrong.find((index) => index > this.#current) : wrong.findLast((index) => index < this.#current);
      const around = step > 0 ? wrong[0] : wrong.at(-1);
      await this.#show(next ?? around ?? this.#current);
    } else if (this.#total !== null) {
      await this.#show((this.#current + step + this.#total) % this.#total);
    } else {
      await this.refresh();
    }
  }

  async #random(): Promise<void> {
    const pick = (below: number) => Math.floor(Math.random() * below);
    if (this.#onlyWrong.checked && this.#wrong !== null) {
      await this.#show(this.#wrong[pick(this.#wrong.length)] ?? this.#current);
    } else {
      await this.#show(pick(this.#total ?? 1));
    }
  }

  async #typed(): Promise<void> {
    const text = this.#index.value.trim();
    const last = (this.#total ?? 1) - 1;
    if (!/^\d+$/.test(text) || (this.#total !== null && Number(text) > last)) {
      this.#index.setAttribute("aria-invalid", "true");
      setText(this.#note, `The index is a whole number from 0 to ${count(last)}.`);
      return;
    }
    this.#index.removeAttribute("aria-invalid");
    await this.#show(Number(text));
  }

  async #onlyWrongChanged(): Promise<void> {
    if (this.#onlyWrong.checked && this.#wrong === null && this.#modelId !== null) {
      await this.#readWrong();
    }
    const wrong = this.#wrong;
    if (this.#onlyWrong.checked && wrong !== null && wrong.length > 0 && !wrong.includes(this.#current)) {
      await this.#move(1);
    } else {
      this.#showNote();
    }
  }

  async #readWrong(): Promise<void> {
    setText(this.#note, "Looking for wrong digits …");
    const model = this.#modelId;
    try {
      const found = (await wrongDigits(dataset)).map((digit) => digit.index);
      if (model === this.#modelId) {
        this.#wrong = found;
        this.#showNote();
      }
    } catch (error) {
      this.#showProblem(error);
    }
  }
}
