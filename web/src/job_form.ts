// The form that starts a job. The daemon checks; what it finds wrong is shown at the field.
import { ApiError, startJob, type Job } from "./api";
import { find, setText } from "./dom";

const numbers = ["iterations", "learning_rate", "seed", "report_every"];
const fields = [...numbers, "name"];

export class JobForm {
  readonly #form = find("job-form", HTMLFormElement);
  readonly #button = find("start", HTMLButtonElement);
  readonly #problem = find("form-error", HTMLElement);

  /** `started` hears of every job that the daemon took. */
  constructor(started: (job: Job) => void) {
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#submit(started);
    });
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
      const text = find(field, HTMLInputElement).value.trim();
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
      find(field, HTMLInputElement).removeAttribute("aria-invalid");
      setText(find(`${field}-error`, HTMLElement), "");
    }
  }

  #show(error: unknown): void {
    const general: string[] = [];
    let first: HTMLInputElement | null = null;
    const found = error instanceof ApiError ? error.fields : [];
    for (const { field, message } of found) {
      if (!fields.includes(field)) {
        general.push(`${field}: ${message}`);
        continue;
      }
      const input = find(field, HTMLInputElement);
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
