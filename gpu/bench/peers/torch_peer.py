#!/usr/bin/env python3
"""The same work in PyTorch, fp32 with TF32 off: the rival of `mnistd bench` on a GPU.

    torch_peer.py DATASET_DIR [ITERATIONS]

Speaks lines of JSON with compare.py. The first line says what it is and which losses its trainings reached; then every line
"round" on standard input is answered by one with the times of all cases, in ms, and the end of the input ends it.

What is fair about it. Everything that does not belong to an iteration lies ready on the device: pixels as floats divided by
255 with the bias, labels as one-hot rows. Of the layouts (rows or columns, 785 features or 800 with zeros, which align them)
and numbers of iterations in a CUDA graph the quickest is taken, by trial, for each case on its own. Additions are left to the
matrix products' own epilogues (addmm). The loss is computed in every iteration, as ours is, and need not leave the device.
"""
import gzip
import itertools
import json
import pathlib
import statistics
import sys

import numpy
import torch

RATE = 0.01
SEED = 1234567
CLASSES, PIXELS, FEATURES, PADDED = 10, 784, 785, 800


def read_idx(directory, name, header):
    plain = pathlib.Path(directory, name)
    packed = pathlib.Path(directory, name + ".gz")
    data = gzip.decompress(packed.read_bytes()) if packed.exists() else plain.read_bytes()
    return numpy.frombuffer(data, dtype=numpy.uint8, offset=header).copy()


def initial_weights():
    s = (numpy.arange(CLASSES * FEATURES, dtype=numpy.uint64) + SEED) & 0xFFFFFFFF
    s = ((s ^ (s >> 16)) * 0x85EBCA6B) & 0xFFFFFFFF
    s = ((s ^ (s >> 13)) * 0xC2B2AE35) & 0xFFFFFFFF
    s = s ^ (s >> 16)
    return (0.01 * ((s >> 8) / 2.0**24 - 0.5)).astype(numpy.float32).reshape(CLASSES, FEATURES)


def widened(matrix, columns):
    """The matrix with columns of zeros behind, contiguous."""
    result = torch.zeros(matrix.shape[0], columns, device=matrix.device)
    result[:, : matrix.shape[1]] = matrix
    return result


class Gemm:
    """The two products over all images, every iteration."""

    def __init__(self, x, labels_one_hot, w0, features, by_image, transposed):
        self.name = f"{features} features, X {'by feature' if transposed else 'by image'}, residuals {'n×10' if by_image else '10×n'}"
        x = widened(x, features)
        # n×features either way; what differs is which lies side by side in memory.
        self.x = x.t().contiguous().t() if transposed else x
        self.n = x.shape[0]
        self.by_image = by_image
        self.y = labels_one_hot if by_image else labels_one_hot.t().contiguous()
        self.w0 = widened(w0, features)
        self.w = self.w0.clone()
        self.loss = torch.zeros((), device=x.device)

    def iterate(self):
        scale = -2 * RATE / self.n
        if self.by_image:
            r = torch.addmm(self.y, self.x, self.w.t(), beta=-1)
            self.loss = torch.dot(r.view(-1), r.view(-1))  # times n
            self.w.addmm_(r.t(), self.x, alpha=scale)
        else:
            r = torch.addmm(self.y, self.w, self.x.t(), beta=-1)
            self.loss = torch.dot(r.view(-1), r.view(-1))
            self.w.addmm_(r, self.x, alpha=scale)


class Gram:
    """The normal equations: one product of 10×785 with 785×785 an iteration."""

    def __init__(self, g, c, w0, features):
        self.name = f"{features} features"
        wide = widened(g, features)
        self.g = torch.zeros(features, features, device=g.device)
        self.g[: g.shape[0]] = wide
        self.c = widened(c, features)
        self.w0 = widened(w0, features)
        self.w = self.w0.clone()
        self.loss = torch.zeros((), device=g.device)

    def iterate(self):
        d = torch.addmm(self.c, self.w, self.g, beta=-1)
        self.loss = torch.dot(self.w.view(-1), (d - self.c).view(-1))  # less 1
        self.w.add_(d, alpha=-2 * RATE)


def milliseconds(run, calls):
    """Of one of `calls` that `run` makes."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    run()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / calls


def captured(algorithm, iterations):
    """A CUDA graph of so many iterations."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            algorithm.iterate()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(iterations):
            algorithm.iterate()
    return graph


class Case:
    """Something to time: `run` makes `calls` calls or iterations."""

    def __init__(self, name, ours, how, run, calls, samples=15):
        self.name, self.ours, self.how = name, ours, how
        self.run, self.calls, self.samples = run, calls, samples

    def round(self):
        self.run()
        times = sorted(milliseconds(self.run, self.calls) for _ in range(self.samples))
        return {"median": statistics.median(times), "least": times[0], "most": times[-1]}


def repeated(function, count):
    def run():
        for _ in range(count):
            function()

    return run


def eager_case(name, ours, candidates, iterations):
    timed = []
    for algorithm in candidates:
        run = repeated(algorithm.iterate, iterations)
        run()
        timed.append((min(milliseconds(run, iterations) for _ in range(3)), algorithm, run))
    _, best, run = min(timed, key=lambda entry: entry[0])
    return best, Case(name, ours, best.name, run, iterations)


def graph_case(name, ours, candidates, lengths, iterations):
    timed = []
    for algorithm, length in itertools.product(candidates, lengths):
        graph = captured(algorithm, length)
        run = repeated(graph.replay, iterations // length)
        run()
        timed.append((min(milliseconds(run, iterations) for _ in range(3)), algorithm, length, run, graph))
    _, best, length, run, graph = min(timed, key=lambda entry: entry[0])
    case = Case(name, ours, f"{best.name}, {length} iterations a graph", run, iterations)
    case.graph, case.length = graph, length
    return best, case


def trained_loss(algorithm, case, iterations, x, y):
    """So many iterations from the initial weights as the case runs them; the loss by the images in float64."""
    algorithm.w.copy_(algorithm.w0)
    graph, length = getattr(case, "graph", None), getattr(case, "length", iterations + 1)
    for _ in range(iterations // length):
        graph.replay()
    for _ in range(iterations % length):  # what a graph of many does not fit into
        algorithm.iterate()
    w = algorithm.w[:, :FEATURES].double()
    loss = 0.0
    for first in range(0, x.shape[0], 10000):
        rows = slice(first, first + 10000)
        loss += float(((x[rows].double() @ w.t() - y[rows].double()) ** 2).sum())
    return loss / x.shape[0]


def main(directory, iterations):
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.set_grad_enabled(False)
    device = torch.device("cuda")
    labels = read_idx(directory, "train-labels-idx1-ubyte", 8)
    pixels = torch.from_numpy(read_idx(directory, "train-images-idx3-ubyte", 16).reshape(len(labels), PIXELS)).to(device)
    n = len(labels)
    ones = torch.ones(n, 1, device=device)
    x = torch.cat([pixels.float() / 255, ones], 1).contiguous()
    y = torch.nn.functional.one_hot(torch.from_numpy(labels).long(), CLASSES).float().to(device)
    w0 = torch.from_numpy(initial_weights()).to(device)

    def gemms():
        choices = itertools.product((FEATURES, PADDED), (True, False), (False, True))
        return [Gemm(x, y, w0, *choice) for choice in choices]

    def ready(source, one_hot):
        return lambda: (source.t() @ source / n, one_hot @ source / n)

    builds = []
    for features, transposed in itertools.product((FEATURES, PADDED), (False, True)):
        wide = widened(x, features)
        wide = wide.t().contiguous().t() if transposed else wide
        one_hot = y.t().contiguous()
        run = ready(wide, one_hot)
        run()
        name = f"{features} features, X {'by feature' if transposed else 'by image'}"
        builds.append((min(milliseconds(run, 1) for _ in range(3)), name, run))
    _, build_name, build = min(builds, key=lambda entry: entry[0])

    def from_bytes():
        wide = torch.zeros(n, PADDED, device=device)
        torch.div(pixels, 255, out=wide[:, :PIXELS])
        wide[:, PIXELS] = 1
        return wide.t() @ wide / n, y.t() @ wide / n

    from_bytes()
    g, c = (matrix[:, :FEATURES] for matrix in build())
    g = g[:FEATURES].contiguous()
    c = c.contiguous()

    runs = [
        eager_case("gemm, eager", "descend", gemms(), 50),
        graph_case("gemm, CUDA graph", "descend", gemms(), (1, 10, 50), 50),
        eager_case("gram, eager", "gram_descend", [Gram(g, c, w0, k) for k in (FEATURES, PADDED)], 100),
        graph_case("gram, CUDA graph", "gram_descend", [Gram(g, c, w0, k) for k in (FEATURES, PADDED)], (1, 10, 50, 100, 300), 300),
    ]
    trainings = [
        {
            "case": case.name,
            "iterations": iterations,
            "learning_rate": RATE,
            "loss": trained_loss(algorithm, case, iterations, x, y),
        }
        for algorithm, case in runs
    ]
    cases = [case for _, case in runs]
    cases.append(Case("G and C, from floats", "gram", build_name, build, 1))
    cases.append(Case("G and C, from bytes", "gram", f"bytes to floats each time, {PADDED} features", from_bytes, 1))
    first = {
        "peer": f"PyTorch {torch.__version__}",
        "device": torch.cuda.get_device_name(),
        "what": f"fp32, TF32 off, CUDA {torch.version.cuda}",
        "images": n,
        "trainings": trainings,
        "cases": [{"name": case.name, "ours": case.ours, "how": case.how} for case in cases],
    }
    print(json.dumps(first), flush=True)
    for line in sys.stdin:
        if line.strip() == "round":
            print(json.dumps({case.name: case.round() for case in cases}), flush=True)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: torch_peer.py DATASET_DIR [ITERATIONS]")
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 300)
