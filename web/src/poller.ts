// Asks again and again, with one request in flight at a time.
//
// A step does its requests and says after how many milliseconds it wants to be called again, or null to rest until
// wake(). A step that throws is retried, after half a second at first and at most five seconds later, for as long as the
// page is open: a daemon that restarts is found again. While the page is hidden a step is called at most every five
// seconds; it is called at once when the page is shown again.

const hiddenDelay = 5000;
const firstRetry = 500;
const lastRetry = 5000;

export type Step = (signal: AbortSignal) => Promise<number | null>;

export class Poller {
  readonly #step: Step;
  readonly #report: (error: unknown) => void;
  readonly #abort = new AbortController();
  #timer: number | undefined;
  #busy = false;
  #wakeAfter = false;
  #failures = 0;

  /** `report` hears the error of a step that failed, and null after one that did not. */
  constructor(step: Step, report: (error: unknown) => void) {
    this.#step = step;
    this.#report = report;
    document.addEventListener("visibilitychange", () => document.hidden || this.wake(), { signal: this.#abort.signal });
    this.wake();
  }

  /** Calls the step now, or right after the one that is under way. */
  wake(): void {
    if (this.#abort.signal.aborted) {
      return;
    }
    if (this.#busy) {
      this.#wakeAfter = true;
      return;
    }
    window.clearTimeout(this.#timer);
    void this.#run();
  }

  /** For good: aborts what is under way and reports nothing more. */
  stop(): void {
    window.clearTimeout(this.#timer);
    this.#abort.abort();
  }

  async #run(): Promise<void> {
    this.#busy = true;
    let delay: number | null;
    try {
      delay = await this.#step(this.#abort.signal);
      this.#failures = 0;
      this.#tell(null);
    } catch (error) {
      delay = Math.min(lastRetry, firstRetry * 2 ** this.#failures);
      this.#failures += 1;
      this.#tell(error);
    }
    this.#busy = false;
    if (this.#abort.signal.aborted) {
      return;
    }
    if (this.#wakeAfter) {
      this.#wakeAfter = false;
      delay = this.#failures > 0 ? delay : 0;
    }
    if (delay !== null) {
      this.#timer = window.setTimeout(() => void this.#run(), document.hidden ? Math.max(delay, hiddenDelay) : delay);
    }
  }

  #tell(error: unknown): void {
    if (!this.#abort.signal.aborted) {
      this.#report(error);
    }
  }
}
