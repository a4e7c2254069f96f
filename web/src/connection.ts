// The banner that says that the daemon is out of reach, for as long as any poller finds it so.
import { ApiError, ConnectionError } from "./api";
import { setText } from "./dom";

export class Connection {
  readonly #banner: HTMLElement;
  readonly #troubles = new Map<string, string>();

  constructor(banner: HTMLElement) {
    this.#banner = banner;
  }

  /** Notes how the last request of `source` went; null: well. */
  report(source: string, error: unknown): void {
    if (error === null || (error instanceof ApiError && error.status < 500)) {
      this.#troubles.delete(source);
    } else if (error instanceof ConnectionError) {
      this.#troubles.set(source, "Connection lost, retrying …");
    } else {
      this.#troubles.set(source, `${error instanceof Error ? error.message : String(error)} Retrying …`);
    }
    const [first = ""] = this.#troubles.values();
    setText(this.#banner, first);
  }
}
