// The jobs, newest first. A row is a link to #job=ID, so selecting works with keyboard, history and bookmarks.
import { listJobs, type Job } from "./api";
import { create, find, setText } from "./dom";
import { count, jobTitle, percent, state } from "./format";
import { Poller } from "./poller";

const busyDelay = 1000;
const idleDelay = 5000;
const pageSize = 20;
const mostJobs = 1000;

interface Row {
  item: HTMLLIElement;
  link: HTMLAnchorElement;
  title: HTMLElement;
  state: HTMLElement;
  spec: HTMLElement;
  outcome: HTMLElement;
}

export class JobList {
  readonly #list = find("jobs", HTMLUListElement);
  readonly #empty = find("jobs-empty", HTMLElement);
  readonly #older = find("jobs-older", HTMLButtonElement);
  readonly #rows = new Map<string, Row>();
  readonly #poller: Poller;
  #limit = pageSize;
  #selected: string | null = null;

  /** `changed` hears the list each time it was read. */
  constructor(changed: (jobs: Job[]) => void, report: (error: unknown) => void) {
    this.#poller = new Poller(async (signal) => {
      const page = await listJobs(this.#limit, signal);
      this.#show(page.items, page.next_cursor !== null && this.#limit < mostJobs);
      changed(page.items);
      return page.items.some((job) => job.state === "queued" || job.state === "running") ? busyDelay : idleDelay;
    }, report);
    const jobsUrl = new URL("v1/jobs", document.baseURI).href;
    setText(this.#empty, `No job yet. Start one above, or: curl -d iterations=300 ${jobsUrl}`);
    this.#older.addEventListener("click", () => {
      this.#limit = Math.min(mostJobs, this.#limit * 2);
      this.#poller.wake();
    });
  }

  /** Reads the list now. */
  refresh(): void {
    this.#poller.wake();
  }

  select(id: string | null): void {
    this.#selected = id;
    for (const [rowId, row] of this.#rows) {
      this.#mark(rowId, row);
    }
  }

  /** Rows are kept and moved, not made anew, so that the keyboard's focus stays where it is. */
  #show(jobs: Job[], more: boolean): void {
    const listed = new Set(jobs.map((job) => job.id));
    for (const [id, row] of this.#rows) {
      if (!listed.has(id)) {
        row.item.remove();
        this.#rows.delete(id);
      }
    }
    jobs.forEach((job, index) => {
      const row = this.#rows.get(job.id) ?? this.#add(job.id);
      this.#fill(row, job);
      const there = this.#list.children[index];
      if (there !== row.item) {
        this.#list.insertBefore(row.item, there ?? null);
      }
    });
    this.#empty.hidden = jobs.length > 0;
    this.#older.hidden = !more;
  }

  #add(id: string): Row {
    const row: Row = {
      item: create("li"),
      link: create("a"),
      title: create("span", "job-name"),
      state: create("span", "state"),
      spec: create("span", "quiet"),
      outcome: create("span", "number"),
    };
    row.link.href = `#job=${encodeURIComponent(id)}`;
    row.link.append(row.title, row.state, row.spec, row.outcome);
    row.item.append(row.link);
    this.#rows.set(id, row);
    this.#mark(id, row);
    return row;
  }

  #fill(row: Row, job: Job): void {
    setText(row.title, jobTitle(job));
    row.title.title = job.id;
    setText(row.state, state(job.state));
    row.state.dataset["state"] = job.state;
    setText(row.spec, `${count(job.spec.iterations)} × ${job.spec.learning_rate}`);
    row.spec.title = "iterations × learning rate";
    setText(row.outcome, this.#outcome(job));
    row.outcome.title = job.result ? "accuracy: train, test" : "";
  }

  #outcome(job: Job): string {
    if (job.result) {
      return `${percent(job.result.train_accuracy)} · ${percent(job.result.test_accuracy)}`;
    }
    return job.state === "running" ? `${Math.floor((100 * job.progress.iteration) / job.spec.iterations)} % done` : "";
  }

  #mark(id: string, row: Row): void {
    if (id === this.#selected) {
      row.link.setAttribute("aria-current", "true");
    } else {
      row.link.removeAttribute("aria-current");
    }
  }
}
