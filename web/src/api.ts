// The daemon's HTTP API, typed. The contract is /openapi.json; only what the page uses is here.

export type JobState = "queued" | "running" | "succeeded" | "failed" | "cancelled";

export interface JobSpec {
  iterations: number;
  learning_rate: number;
  solver: string;
  dataset: string;
  model: string;
  seed: number;
  report_every: number;
}

export interface JobResult {
  model_id: string;
  loss: number | null;
  train_accuracy: number;
  test_accuracy: number;
  train_correct: number;
  test_correct: number;
  train_ms: number;
  ms_per_iteration: number;
}

export interface JobFailure {
  code: string;
  message: string;
}

export interface Job {
  id: string;
  state: JobState;
  name: string | null;
  spec: JobSpec;
  progress: {
    iteration: number;
    loss: number | null;
    train_accuracy: number | null;
    test_accuracy: number | null;
    ms_per_iteration: number | null;
    eta_s: number | null;
  };
  result: JobResult | null;
  warnings: string[];
  error: JobFailure | null;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  device: string;
}

export interface MetricsRow {
  iteration: number;
  loss: number | null;
  trainAccuracy: number | null;
  testAccuracy: number | null;
}

export interface Page<T> {
  items: T[];
  next_cursor: string | null;
}

export interface WrongDigit {
  index: number;
  truth: number;
  predicted: number;
}

export interface Prediction {
  label: number;
  scores: number[];
  margin: number;
  model_id: string;
  truth: number | null;
}

export interface FieldError {
  field: string;
  message: string;
}

/** The daemon answered, with a status that is no success. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly title: string,
    detail: string,
    readonly type: string,
    readonly fields: FieldError[],
    readonly retryAfter: string | null,
  ) {
    super(detail !== "" ? detail : title);
  }
}

/** No answer: the daemon is down, out of reach, or silent for too long. */
export class ConnectionError extends Error {}

const timeout = 15_000;

async function request(path: string, signal?: AbortSignal, init: RequestInit = {}): Promise<Response> {
  const expired = AbortSignal.timeout(timeout);
  try {
    return await fetch(path, {
      ...init,
      signal: signal ? AbortSignal.any([signal, expired]) : expired,
      cache: "no-store",
    });
  } catch (error) {
    throw new ConnectionError("The daemon does not answer.", { cause: error });
  }
}

async function toError(response: Response): Promise<ApiError> {
  let problem: Record<string, unknown> = {};
  try {
    problem = (await response.json()) as Record<string, unknown>;
  } catch {
    // A proxy's page, perhaps: the status has to do.
  }
  const text = (key: string) => (typeof problem[key] === "string" ? (problem[key] as string) : "");
  return new ApiError(
    response.status,
    text("title") || `${response.status} ${response.statusText}`,
    text("detail"),
    text("type"),
    Array.isArray(problem["errors"]) ? (problem["errors"] as FieldError[]) : [],
    response.headers.get("Retry-After"),
  );
}

async function success(path: string, signal?: AbortSignal, init?: RequestInit): Promise<Response> {
  const response = await request(path, signal, init);
  if (!response.ok) {
    throw await toError(response);
  }
  return response;
}

async function json<T>(path: string, signal?: AbortSignal, init?: RequestInit): Promise<T> {
  const response = await success(path, signal, init);
  try {
    return (await response.json()) as T;
  } catch (error) {
    throw new ConnectionError("The daemon's answer broke off.", { cause: error });
  }
}

const id = encodeURIComponent;

export function listJobs(limit: number, signal?: AbortSignal): Promise<Page<Job>> {
  return json(`v1/jobs?limit=${limit}`, signal);
}

export function getJob(jobId: string, signal?: AbortSignal): Promise<Job> {
  return json(`v1/jobs/${id(jobId)}`, signal);
}

/** Fields of a job as the user typed them; the daemon has the last word on what is valid. */
export function startJob(fields: Record<string, unknown>): Promise<Job> {
  return json("v1/jobs", undefined, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(fields),
  });
}

export async function cancelJob(jobId: string): Promise<void> {
  await success(`v1/jobs/${id(jobId)}`, undefined, { method: "DELETE" });
}

/** The rows with an iteration above `since`. */
export async function jobMetrics(jobId: string, since: number, signal?: AbortSignal): Promise<MetricsRow[]> {
  const table = await json<{ columns: string[]; rows: (number | null)[][] }>(
    `v1/jobs/${id(jobId)}/metrics?since=${since}`,
    signal,
  );
  const column = (name: string) => table.columns.indexOf(name);
  const [iteration, loss, train, test] = [
    column("iteration"),
    column("loss"),
    column("train_accuracy"),
    column("test_accuracy"),
  ];
  return table.rows.map((row) => ({
    iteration: row[iteration] ?? 0,
    loss: row[loss] ?? null,
    trainAccuracy: row[train] ?? null,
    testAccuracy: row[test] ?? null,
  }));
}

/** The digit as a terminal shows it, with the active model's prediction where there is one. */
export async function digitText(dataset: string, index: number, signal?: AbortSignal): Promise<string> {
  const response = await success(`v1/datasets/${id(dataset)}/test/${index}.txt`, signal);
  return response.text();
}

export function digitPicture(dataset: string, index: number, scale: number): string {
  return `v1/datasets/${id(dataset)}/test/${index}.png?scale=${scale}`;
}

export function predictDigit(dataset: string, index: number, signal?: AbortSignal): Promise<Prediction> {
  return json(`v1/predict?dataset=${id(dataset)}&split=test&index=${index}`, signal);
}

/** Every test digit that the active model gets wrong, in the order of the dataset. */
export async function wrongDigits(dataset: string): Promise<WrongDigit[]> {
  const found: WrongDigit[] = [];
  let cursor: string | null = null;
  do {
    const next: string = cursor === null ? "" : `&cursor=${id(cursor)}`;
    const page: Page<WrongDigit> = await json(`v1/datasets/${id(dataset)}/test?wrong=1&limit=1000${next}`);
    found.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return found;
}

export interface Dataset {
  name: string;
  splits: { train: number; test: number };
  /** The largest learning rate that does not diverge; null until the daemon knows it. */
  stability_limit: number | null;
}

export function getDataset(dataset: string, signal?: AbortSignal): Promise<Dataset> {
  return json(`v1/datasets/${id(dataset)}`, signal);
}

export interface Curve {
  rows: [iteration: number, loss: number | null][];
  stability_limit: number;
}

/** The losses that a job of this spec would report, without training. */
export function predictedCurve(spec: JobSpec, signal?: AbortSignal): Promise<Curve> {
  const { dataset, learning_rate, iterations, seed } = spec;
  return json(
    `v1/datasets/${id(dataset)}/curve?learning_rate=${learning_rate}&iterations=${iterations}&seed=${seed}`,
    signal,
  );
}

export function getSystem(signal?: AbortSignal): Promise<Record<string, unknown>> {
  return json("v1/system", signal);
}

/** Whether the daemon is ready, and if not, why; 503 is an answer here, not an error. */
export async function getReadiness(signal?: AbortSignal): Promise<{ ready: boolean; reasons: string[] }> {
  const response = await request("readyz", signal);
  if (response.ok) {
    return { ready: true, reasons: [] };
  }
  const body = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  if (Array.isArray(body["reasons"])) {
    return { ready: false, reasons: body["reasons"].map(String) };
  }
  return { ready: false, reasons: typeof body["detail"] === "string" ? [body["detail"]] : [] };
}
