// The form that starts a job. The daemon checks; what it finds wrong is shown at the field.
import { ApiError, getDataset, startJob, type Job } from "./api";
import { find, setText } from "./dom";
import { Poller } from "./poller";

const numbers = ["iterations", "learning_rate", "seed", "report_every"];
const fields = [...numbers, "name", "solver"];
// What a job is trained on unless it says otherwise.
const dataset = "mnist";
const limitDelay = 1000;

function control(field: string): HTMLInputElement | HTMLSelectElement {
  return field === "solver" ? find(field, HTMLSelectElement) : find(field, HTMLInputElement);
}

export class JobForm {
  readonly #form = find("job-form", HTMLFormElement);
  readonly #button = find("start", HTMLButtonElement);
  readonly #problem = find("form-error", HTMLElement);

  /** `started` hears of every job that the daemon took. */
  constructor(started: (job: Job) => void, report: (error: unknown) => void) {
    find("rate-auto", HTMLButtonElement).addEventListener("click", () => {
      find("learning_rate", HTMLInputElement).value = "auto";
    });
    new Poller((signal) => this.#showLimit(signal), report);
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#submit(started);
    });
  }

  /** Asks until the daemon, which works it out after its first start, knows the limit. */
  async #showLimit(signal: AbortSignal): Promise<number | null> {
    try {
      const limit = (await getDataset(dataset, signal)).stability_limit;
      if (limit === null) {
        return limitDelay;
      }
      setText(find("rate-limit", HTMLElement), `Stable up to ${limit.toPrecision(3)} on ${dataset}`);
      find("rate-hint", HTMLElement).hidden = false;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) {
        throw error;
      }
    }
    return null;
  }

  async #submit(started: (job: Job) => void): Promise<void> {
    this.#button.disabled = true;
    this.#clear();
    try {
      started(await startJob(this.#read()));
      // The other fields are likely wanted again; a name is of one job.
      find("name", HTMLInputElement).value = "";
    } catch (error) {
      this.#show(error);
    } finally {
      this.#button.disabled = false;
    }
  }

  /** An empty field is left to the daemon's default. What is no number goes out as text, for the daemon to refuse. */
  #read(): Record<string, unknown> {
    const body: Record<string, unknown> = {};
    for (const field of fields) {
      const text = control(field).value.trim();
      if (text !== "") {
        const number = Number(text);
        body[field] = numbers.includes(field) && Number.isFinite(number) ? number : text;
      }
    }
    return body;
  }

  #clear(): void {
    setText(this.#problem, "");
    for (const field of fields) {
      control(field).removeAttribute("aria-invalid");
      setText(find(`${field}-error`, HTMLElement), "");
    }
  }

  #show(error: unknown): void {
    const general: string[] = [];
    let first: HTMLElement | null = null;
    const found = error instanceof ApiError ? error.fields : [];
    for (const { field, message } of found) {
      if (!fields.includes(field)) {
        general.push(`${field}: ${message}`);
        continue;
      }
      const input = control(field);
      input.setAttribute("aria-invalid", "true");
      setText(find(`${field}-error`, HTMLElement), message);
      if (input.closest("details") !== null) {
        find("job-more", HTMLDetailsElement).open = true;
      }
      first ??= input;
    }
    if (found.length === 0) {
      general.push(error instanceof Error ? error.message : String(error));
      if (error instanceof ApiError && error.retryAfter !== null) {
        general.push(`Try again in ${error.retryAfter} s.`);
      }
    }
    setText(this.#problem, general.join(" "));
    first?.focus();
  }
}
