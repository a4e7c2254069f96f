#!/usr/bin/env python3
"""Runs `mnistd bench` and a rival in turn on one machine, and writes what was seen as Markdown and JSON.

    compare.py --ours MNISTD [--flags "--backend hip"] --dataset DIR --results DIR [options] -- RIVAL [ARGUMENTS]

The rival (torch_peer.py, openblas_peer) lives through all rounds and is idle while ours runs: it says first which losses its
trainings reached, and answers each line "round" with its times. Nothing is written unless every training of both sides ends
with the same loss, to 1e-5 relative; for 300 iterations over MNIST that loss is known.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import shlex
import statistics
import subprocess
import sys

TOLERANCE = 1e-5
KNOWN_LOSSES = {(60000, 300): 0.420517408}  # real MNIST at 0.01 from seed 1234567, in float64
WORK = {
    "descend": "gemm, an iteration",
    "gram_descend": "gram, an iteration",
    "gram": "G and C of all images",
}


def say(text):
    print(f"compare: {text}", file=sys.stderr, flush=True)


class Ours:
    def __init__(self, program, libraries, flags, dataset):
        # Of this program alone: the rival has libraries of its own.
        self.environment = {**os.environ, "LD_LIBRARY_PATH": libraries} if libraries else None
        self.command = [program, "bench", "--json", "--chosen", "--dataset", dataset, *flags]

    def run(self, *more):
        command = self.command + list(more)
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=self.environment)
        if done.returncode != 0:
            sys.exit(f"compare: {shlex.join(command)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
        return json.loads(done.stdout)


class Rival:
    def __init__(self, command):
        self.command = command
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.introduction = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"compare: {shlex.join(self.command)} ended with {self.process.wait()}")
        return json.loads(line)

    def round(self):
        self.process.stdin.write("round\n")
        self.process.stdin.flush()
        return self.answer()

    def end(self):
        self.process.stdin.close()
        if self.process.wait(timeout=60) != 0:
            sys.exit(f"compare: {shlex.join(self.command)} ended with {self.process.returncode}")


def losses(ours, rival, images):
    """(who, iterations, loss) of all trainings. Ends the program where they disagree."""
    rows = [("mnistd, " + training["solver"], training["iterations"], training["loss"]) for training in ours["trainings"]]
    name = rival["peer"]
    rows += [(f"{name}, {training['case']}", training["iterations"], training["loss"]) for training in rival["trainings"]]
    if len(ours["trainings"]) != 2 or len({iterations for _, iterations, _ in rows}) != 1:
        sys.exit(f"compare: not the same trainings: {rows}")
    expected = KNOWN_LOSSES.get((images, rows[0][1]), ours["trainings"][0]["float64_loss"])
    for who, iterations, loss in rows:
        if not abs(loss - expected) <= TOLERANCE * expected:
            sys.exit(f"compare: {who} ends {iterations} iterations with the loss {loss}, not {expected}")
    return expected, rows


def over_rounds(summaries):
    """The median of the rounds' medians, with their range, and the least sample of all."""
    medians = [summary["median"] for summary in summaries]
    return {
        "median": statistics.median(medians),
        "least_median": min(medians),
        "most_median": max(medians),
        "least": min(summary["least"] for summary in summaries),
    }


def row_of(report, operation):
    return next(row for row in report["rows"] if row["operation"] == operation)


def figure(value):
    return f"{value:.4g}" if value < 1000 else f"{value:.0f}"


def spread(times):
    return f"{figure(times['least_median'])} – {figure(times['most_median'])}"


def markdown(result):
    device, rival, limits = result["device"], result["rival"], result["limits"]
    threads = f", {device['compute_units']} threads" if device["backend"] == "cpu" else ""
    lines = [
        f"# {device['name']}, {result['date'][:10]}",
        "",
        f"mnistd {result['version']} ({device['architecture']}{threads}{', ' + device['driver'] if device['driver'] else ''}) and "
        f"{rival['peer']} ({rival['device']}; {rival['what']}) in turn on one machine, {result['date']}.",
        f"{result['images']:,} images of {result['source']}, {result['rounds']} rounds. Times in ms: the median of the rounds' medians, "
        f"their range behind it, and the least of all samples.{' ' + result['note'] if result['note'] else ''}",
        "",
        "| work | mnistd | range | least | rival | theirs | range | least | ours / theirs | of the least |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for entry in result["comparisons"]:
        ours, theirs = entry["ours_ms"], entry["theirs_ms"]
        lines.append(
            f"| {WORK[entry['operation']]} | {figure(ours['median'])} | {spread(ours)} | {figure(ours['least'])} | {entry['case']} | "
            f"{figure(theirs['median'])} | {spread(theirs)} | {figure(theirs['least'])} | **{entry['ratio']:.3f}** | {entry['ratio_of_least']:.3f} |"
        )
    used = [entry for entry in result["comparisons"] if "processor_ratio" in entry]
    if used:
        lines += ["", "Time on processors of all threads, which others on the machine disturb less:", ""]
        lines += ["| work | mnistd | range | theirs | range | ours / theirs |", "|---|---|---|---|---|---|"]
        for entry in used:
            ours, theirs = entry["ours_processor_ms"], entry["theirs_processor_ms"]
            lines.append(
                f"| {WORK[entry['operation']]} | {figure(ours['median'])} | {spread(ours)} | {figure(theirs['median'])} | "
                f"{spread(theirs)} | **{entry['processor_ratio']:.3f}** |"
            )
    lines += ["", "How the rival did it: " + "; ".join(f"{case['name']}: {case['how']}" for case in rival["cases"]) + ".", ""]
    lines += ["| training | iterations at 0.01 | final loss |", "|---|---|---|"]
    lines += [f"| {who} | {iterations} | {loss:.9f} |" for who, iterations, loss in result["losses"]]
    lines += [f"| float64 | {result['losses'][0][1]} | {result['expected_loss']:.9f} |", ""]
    lines.append(
        f"Limits measured beside it: copy {limits['bytes_per_second'] / 1e9:.0f} GB/s, fp32 multiply-adds {limits['flops'] / 1e9:.0f} GFLOP/s, "
        f"byte products {limits['byte_operations_per_second'] / 1e9:.0f} Gop/s. "
        + "; ".join(f"{WORK[name]}: {100 * share:.1f} %" for name, share in result["shares"].items())
        + " of them (work counted as if no pixel were blank)."
    )
    memory = result["memory"]
    lines += [
        "",
        f"Device memory beyond the images' {memory['image_bytes'] / 1e6:.1f} MB: {memory['gemm_scratch_bytes'] / 1e6:.2f} MB for gemm iterations, "
        f"{memory['gemm_scratch_ratio']:.3f} of it; {memory['scratch_bytes'] / 1e6:.2f} MB with gram, {memory['scratch_ratio']:.3f}.",
    ]
    if result["sizes"]:
        lines += ["", "| images (repeated) | gemm, ms an iteration | per 60,000 | G and C, ms | per 60,000 |", "|---|---|---|---|---|"]
        for size in result["sizes"]:
            scale = 60000 / size["images"]
            gemm, gram = size["descend"]["median"], size["gram"]["median"]
            lines.append(f"| {size['images']:,} | {figure(gemm)} | {figure(gemm * scale)} | {figure(gram)} | {figure(gram * scale)} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True, help="the program mnistd")
    parser.add_argument("--libraries", help="directory of the libraries that mnistd needs")
    parser.add_argument("--flags", default="", help="more flags of mnistd bench")
    parser.add_argument("--dataset", required=True)
    parser.add_argument("--results", required=True, help="directory for DATE-DEVICE.md and .json")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=300, help="that the rival trains too (its own argument)")
    parser.add_argument("--sizes", default="", help="numbers of images, to show what more of them cost")
    parser.add_argument("--note", default="", help="a sentence on the circumstances")
    parser.add_argument("rival", nargs="+")
    options = parser.parse_args()

    ours = Ours(options.ours, options.libraries, shlex.split(options.flags), options.dataset)
    say(f"starting {shlex.join(options.rival)}")
    rival = Rival(options.rival)
    say("training ours, and checking every operation")
    operations = ",".join(WORK)
    first = ours.run("--operations", operations, "--iterations", str(options.iterations))
    images = first["images"]["count"]
    if images != rival.introduction["images"]:
        sys.exit(f"compare: {images} images are not the rival's {rival.introduction['images']}")
    expected, rows = losses(first, rival.introduction, images)

    our_rounds, their_rounds = [], []
    for number in range(options.rounds):
        say(f"round {number + 1} of {options.rounds}")
        our_rounds.append(ours.run("--operations", operations, "--iterations", "0"))
        their_rounds.append(rival.round())
    rival.end()

    comparisons = []
    for case in rival.introduction["cases"]:
        ours_ms = over_rounds([row_of(report, case["ours"])["warm_ms"] for report in our_rounds])
        theirs_ms = over_rounds([answer[case["name"]] for answer in their_rounds])
        comparison = {
            "operation": case["ours"],
            "case": case["name"],
            "ours_ms": ours_ms,
            "theirs_ms": theirs_ms,
            "ratio": ours_ms["median"] / theirs_ms["median"],
            "ratio_of_least": ours_ms["least"] / theirs_ms["least"],
        }
        if all("processor" in answer[case["name"]] for answer in their_rounds):  # both on processors
            ours_used = over_rounds([row_of(report, case["ours"])["processor_ms"] for report in our_rounds])
            theirs_used = over_rounds([answer[case["name"]]["processor"] for answer in their_rounds])
            comparison["ours_processor_ms"], comparison["theirs_processor_ms"] = ours_used, theirs_used
            comparison["processor_ratio"] = ours_used["median"] / theirs_used["median"]
        comparisons.append(comparison)
    sizes = []
    for size in filter(None, options.sizes.split(",")):
        say(f"{size} images")
        report = ours.run("--operations", "descend,gram", "--iterations", "0", "--images", size)
        sizes.append({"images": int(size), **{name: row_of(report, name)["warm_ms"] for name in ("descend", "gram")}})

    # The limits of the rounds' best: what disturbs a machine makes them smaller only.
    limits = {name: max(report["limits"][name] for report in our_rounds) for name in first["limits"]}
    shares = {}
    for name in WORK:
        row = row_of(first, name)
        least = max(
            row["flops"] / limits["flops"],
            row["byte_operations"] / limits["byte_operations_per_second"],
            row["bytes"] / limits["bytes_per_second"],
        )
        shares[name] = 1e3 * least / over_rounds([row_of(report, name)["warm_ms"] for report in our_rounds])["median"]
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    result = {
        "date": date,
        "version": first["version"],
        "device": first["device"],
        "rival": rival.introduction,
        "images": images,
        "source": "MNIST" if (images, options.iterations) in KNOWN_LOSSES else first["images"]["source"],
        "rounds": options.rounds,
        "note": options.note,
        "comparisons": comparisons,
        "expected_loss": expected,
        "losses": rows,
        "limits": limits,
        "shares": shares,
        "memory": first["memory"],
        "sizes": sizes,
    }
    slug = re.sub("[^a-z0-9]+", "-", first["device"]["name"].lower()).strip("-")
    results = pathlib.Path(options.results)
    results.mkdir(parents=True, exist_ok=True)
    stem = results / f"{date[:10]}-{slug}"
    text = markdown(result)
    stem.with_suffix(".md").write_text(text)
    stem.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n")
    print(text, end="")
    say(f"written: {stem}.md and .json")


if __name__ == "__main__":
    main()
