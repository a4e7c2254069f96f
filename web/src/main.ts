// Puts the page together. The selected job is in the address (#job=ID), so that a reload or a bookmark keeps it.
import type { Job } from "./api";
import { Connection } from "./connection";
import { Digits } from "./digits";
import { find } from "./dom";
import { JobForm } from "./job_form";
import { JobList } from "./job_list";
import { JobView } from "./job_view";
import { SystemHeader } from "./system";

const connection = new Connection(find("connection", HTMLElement));
const reporter = (source: string) => (error: unknown) => connection.report(source, error);

const digits = new Digits();
const view = new JobView(() => list.refresh(), reporter("job"));
const list = new JobList(onJobs, reporter("jobs"));
new SystemHeader(reporter("system"));
new JobForm((job) => {
  location.hash = `job=${encodeURIComponent(job.id)}`;
  list.refresh();
}, reporter("limit"));

let newestModel: string | null = null;

function onJobs(jobs: Job[]): void {
  if (selectedInAddress() === null) {
    const first = jobs.find((job) => job.state === "running") ?? jobs[0];
    if (first) {
      history.replaceState(null, "", `#job=${encodeURIComponent(first.id)}`);
      select();
    }
  }
  const model = jobs.find((job) => job.result !== null)?.result?.model_id ?? null;
  if (model !== newestModel) {
    newestModel = model;
    void digits.refresh();
  }
}

function selectedInAddress(): string | null {
  return new URLSearchParams(location.hash.slice(1)).get("job");
}

function select(): void {
  const id = selectedInAddress();
  list.select(id);
  view.show(id);
}

window.addEventListener("hashchange", select);
select();
