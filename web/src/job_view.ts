// The selected job: state, progress, figures, charts, result. While it runs it is asked for four times a second.
import uPlot from "uplot";

import { ApiError, cancelJob, getJob, jobMetrics, predictedCurve, type Curve, type Job, type MetricsRow } from "./api";
import { Chart } from "./charts";
import { create, find, setText } from "./dom";
import { count, duration, jobTitle, loss, milliseconds, percent, state } from "./format";
import { MetricsSeries } from "./metrics_series";
import { Poller } from "./poller";

const runningDelay = 250;
const queuedDelay = 1000;
// Rows reach the disk within a second: how often to look again for those of a job that has just ended.
const lateRowTries = 5;
// An answer this long may have more behind it.
const manyRows = 500;

export class JobView {
  readonly #title = find("job-title", HTMLElement);
  readonly #state = find("job-state", HTMLElement);
  readonly #cancel = find("job-cancel", HTMLButtonElement);
  readonly #body = find("job-body", HTMLElement);
  readonly #error = find("job-error", HTMLElement);
  readonly #lossChart = new Chart(
    find("loss-chart", HTMLElement),
    [
      { label: "Loss", colour: "--loss", spanGaps: true },
      { label: "Predicted (dashed)", colour: "--predicted", dash: [3, 5], spanGaps: true },
    ],
    (value) => loss(value),
  );
  readonly #accuracyChart = new Chart(
    find("accuracy-chart", HTMLElement),
    [
      { label: "Train", colour: "--train" },
      { label: "Test (dashed)", colour: "--test", dash: [6, 4] },
    ],
    (value) => `${value.toFixed(2)} %`,
  );
  readonly #ended: (job: Job) => void;
  readonly #report: (error: unknown) => void;
  #poller: Poller | null = null;
  #job: Job | null = null;
  #predicted: Curve["rows"] = [];

  /** `ended` hears a watched job once, when it has ended while it was watched. */
  constructor(ended: (job: Job) => void, report: (error: unknown) => void) {
    this.#ended = ended;
    this.#report = report;
    this.#cancel.addEventListener("click", () => void this.#onCancel());
  }

  /** Watches another job; what was known of the one before is dropped. */
  show(id: string | null): void {
    this.#poller?.stop();
    this.#poller = null;
    this.#job = null;
    this.#predicted = [];
    this.#report(null);
    this.#drawRows(new MetricsSeries());
    this.#body.hidden = true;
    this.#cancel.hidden = true;
    setText(this.#state, "");
    setText(find("job-spec", HTMLElement), id === null ? "Start a training or choose a job: it is drawn here." : "");
    setText(this.#title, id === null ? "No job selected" : `Job ${id}`);
    if (id !== null) {
      this.#watch(id);
    }
  }

  #watch(id: string): void {
    const series = new MetricsSeries();
    let emptyAnswers = 0;
    let asked = false;
    this.#poller = new Poller(async (signal) => {
      let job: Job;
      let rows: MetricsRow[];
      try {
        job = await getJob(id, signal);
        // Asked for after the job, so that an ended job's rows are complete but for those on their way to the disk.
        rows = await jobMetrics(id, series.lastIteration, signal);
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) {
          this.#showMissing(id);
          return null;
        }
        throw error;
      }
      if (rows.length > 0) {
        series.add(rows);
        this.#drawRows(series);
      }
      this.#showJob(job, series);
      if (!asked) {
        asked = true;
        await this.#predict(job, signal);
        this.#drawRows(series);
      }
      if (job.state === "queued") {
        return queuedDelay;
      }
      if (rows.length >= manyRows) {
        return 0;
      }
      if (job.state === "running" || rows.length > 0) {
        return runningDelay;
      }
      emptyAnswers += 1;
      const complete = job.state === "succeeded" && series.lastIteration >= job.spec.iterations;
      return complete || emptyAnswers > lateRowTries ? null : runningDelay;
    }, this.#report);
  }

  /** What the dataset's eigenvalues say of the whole curve; nothing where it diverges or where the daemon does not say. */
  async #predict(job: Job, signal: AbortSignal): Promise<void> {
    if (job.spec.model !== "linear") {
      return;
    }
    try {
      const { rows, stability_limit } = await predictedCurve(job.spec, signal);
      this.#predicted = job.spec.learning_rate > stability_limit ? [] : rows;
    } catch (error) {
      // The chart does without; whether the daemon is there, the other requests tell.
      if (!(error instanceof ApiError)) {
        throw error;
      }
    }
  }

  #drawRows(series: MetricsSeries): void {
    const [iteration, losses, train, test] = series.columns();
    // A job's rows need not be at the iterations of the prediction's.
    this.#lossChart.draw(
      uPlot.join([
        [iteration, losses],
        [this.#predicted.map(([k]) => k), this.#predicted.map(([, value]) => value)],
      ]),
    );
    this.#accuracyChart.draw([iteration, train, test]);
  }

  #showMissing(id: string): void {
    setText(this.#title, `Job ${id}`);
    setText(find("job-spec", HTMLElement), "There is no such job. It may have been removed.");
    this.#body.hidden = true;
    this.#cancel.hidden = true;
    setText(this.#state, "");
  }

  #showJob(job: Job, series: MetricsSeries): void {
    const before = this.#job;
    this.#job = job;
    this.#body.hidden = false;
    setText(this.#title, job.name ?? `Job ${job.id}`);
    this.#title.title = job.id;
    setText(this.#state, state(job.state));
    this.#state.dataset["state"] = job.state;
    const { spec } = job;
    setText(
      find("job-spec", HTMLElement),
      `${count(spec.iterations)} iterations at ${spec.learning_rate} · ${spec.model} · ${spec.solver} · ` +
        `${spec.dataset} · seed ${spec.seed} · ${job.device}`,
    );
    this.#cancel.hidden = job.state !== "queued" && job.state !== "running";
    this.#showFigures(job, series);
    this.#showOutcome(job);
    if (before !== null && before.state !== job.state) {
      this.#announce(job);
    }
  }

  #showFigures(job: Job, series: MetricsSeries): void {
    const { progress, result, spec } = job;
    const done = job.state === "succeeded" ? spec.iterations : Math.max(progress.iteration, series.lastIteration);
    find("job-progress", HTMLProgressElement).value = done / spec.iterations;
    setText(find("job-percent", HTMLElement), `${Math.floor((100 * done) / spec.iterations)} %`);
    setText(find("job-iteration", HTMLElement), `${count(done)} / ${count(spec.iterations)}`);

    // The result is of the weights handed over; before that, the newest row.
    const latest = result ?? {
      loss: series.last ? series.last.loss : progress.loss,
      train_accuracy: series.last ? series.last.trainAccuracy : progress.train_accuracy,
      test_accuracy: series.last ? series.last.testAccuracy : progress.test_accuracy,
    };
    setText(find("job-loss", HTMLElement), loss(latest.loss));
    setText(find("job-train", HTMLElement), percent(latest.train_accuracy));
    setText(find("job-test", HTMLElement), percent(latest.test_accuracy));
    setText(find("job-ms", HTMLElement), milliseconds(result?.ms_per_iteration ?? progress.ms_per_iteration));

    const running = job.state === "running" || job.state === "queued";
    setText(find("job-time-label", HTMLElement), running ? "Time left" : "Took");
    setText(find("job-time", HTMLElement), duration(running ? progress.eta_s : this.#elapsed(job)));
  }

  #elapsed(job: Job): number | null {
    return job.started_at !== null && job.finished_at !== null
      ? (Date.parse(job.finished_at) - Date.parse(job.started_at)) / 1000
      : null;
  }

  #showOutcome(job: Job): void {
    const { result } = job;
    setText(
      find("job-result", HTMLElement),
      result === null
        ? ""
        : `Final: loss ${loss(result.loss)}, train ${percent(result.train_accuracy)} (${count(result.train_correct)} right), ` +
            `test ${percent(result.test_accuracy)} (${count(result.test_correct)} right), ` +
            `${duration(result.train_ms / 1000)} of training.`,
    );
    setText(this.#error, job.error?.message ?? "");
    const warnings = find("job-warnings", HTMLUListElement);
    if (warnings.childElementCount !== job.warnings.length) {
      warnings.replaceChildren(...job.warnings.map((warning) => create("li", "", warning)));
    }
  }

  #announce(job: Job): void {
    const outcome = job.result ? `, test accuracy ${percent(job.result.test_accuracy)}` : "";
    setText(find("job-said", HTMLElement), `${jobTitle(job)} ${job.state}${outcome}`);
    if (job.state !== "queued" && job.state !== "running") {
      this.#ended(job);
    }
  }

  async #onCancel(): Promise<void> {
    if (this.#job === null) {
      return;
    }
    this.#cancel.disabled = true;
    try {
      await cancelJob(this.#job.id);
      this.#poller?.wake();
    } catch (error) {
      setText(this.#error, error instanceof Error ? error.message : String(error));
    } finally {
      this.#cancel.disabled = false;
    }
  }
}
