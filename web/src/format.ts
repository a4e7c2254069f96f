// How numbers and states read on the page.
import type { JobState } from "./api";

const absent = "–";
const counts = new Intl.NumberFormat("en");

export function count(value: number | null): string {
  return value === null ? absent : counts.format(value);
}

/** A fraction 0…1 as a percentage with two decimals. */
export function percent(fraction: number | null): string {
  return fraction === null ? absent : `${(fraction * 100).toFixed(2)} %`;
}

/** Six significant digits, enough to see late progress. */
export function loss(value: number | null): string {
  return value === null ? absent : value.toPrecision(6);
}

export function milliseconds(value: number | null): string {
  if (value === null) {
    return absent;
  }
  return `${value < 100 ? value.toPrecision(3) : count(Math.round(value))} ms`;
}

/** Seconds as a person says them: "0.8 s", "42 s", "3 min 05 s", "2 h 10 min". */
export function duration(seconds: number | null): string {
  if (seconds === null) {
    return absent;
  }
  if (seconds < 9.95) {
    return `${seconds.toFixed(1)} s`;
  }
  const whole = Math.round(seconds);
  if (whole < 60) {
    return `${whole} s`;
  }
  if (whole < 3600) {
    return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
  }
  return `${Math.floor(whole / 3600)} h ${String(Math.floor((whole % 3600) / 60)).padStart(2, "0")} min`;
}

const stateSigns: Record<JobState, string> = {
  queued: "…",
  running: "▶",
  succeeded: "✓",
  failed: "✕",
  cancelled: "■",
};

/** A sign and the word: the colour only repeats what they say. */
export function state(value: JobState): string {
  return `${stateSigns[value]} ${value}`;
}

/** The name, or the end of the id, which tells apart what was made on one day. */
export function jobTitle(job: { id: string; name: string | null }): string {
  return job.name ?? `Job …${job.id.slice(-6)}`;
}
