#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Model files of ONNX, by turns with ONNX Runtime, at the sizes that the files state: in IEEE's f32, or
with --math f32 in the fastest way of keeping f32's contract.

Each round times calls in ONNX Runtime (all optimizations, as many threads) and then in `narrowgauge
run`; the ratio is of their medians, above 1 where narrowgauge is faster. The last lines are the
geometric mean and the least. Inputs are those recorded in test_data_set_0 beside a model, else random;
sizes that a file leaves open count as 1.
Needs onnx, onnxruntime and numpy.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

import numpy
import onnx
import onnxruntime

DTYPES = {1: numpy.float32, 6: numpy.int32, 7: numpy.int64, 9: numpy.bool_}


def recorded(path, number):
    tensor = onnx.TensorProto()
    file = os.path.join(os.path.dirname(path), "test_data_set_0", f"input_{number}.pb")
    if not os.path.exists(file):
        return None
    with open(file, "rb") as stream:
        tensor.ParseFromString(stream.read())
    return onnx.numpy_helper.to_array(tensor)


def inputs_of(path, sizes):
    graph = onnx.load(path, load_external_data=False).graph
    known = {tensor.name for tensor in graph.initializer}
    generator = numpy.random.default_rng(1)
    inputs = {}
    for number, value in enumerate(value for value in graph.input if value.name not in known):
        if value.name not in sizes and (array := recorded(path, number)) is not None:
            inputs[value.name] = array
            continue
        tensor = value.type.tensor_type
        shape = sizes.get(value.name) or [max(dim.dim_value, 1) for dim in tensor.shape.dim]
        numbers = generator.random(shape, dtype=numpy.float32)
        inputs[value.name] = numbers.astype(DTYPES[tensor.elem_type])
    return inputs


def session_of(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def seconds(call, calls):
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def ours(flags, path, arrays, calls):
    command = [flags.program, "run", path, "--input", arrays, "--quiet", "--json", "--math",
               flags.math, "--threads", str(flags.threads), "--repeat", str(calls)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(text.splitlines()[-1])["median_seconds"]


def parse_sizes(texts):
    pairs = (text.split("=") for text in texts)
    return {name: [int(size) for size in dims.split("x")] for name, dims in pairs}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", help="files of ONNX")
    parser.add_argument("--program", default="build/release/narrowgauge")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--math", choices=["ieee", "f32"], default="ieee")
    parser.add_argument("--shape", action="append", default=[], help="NAME=DIMS of an input")
    flags = parser.parse_args()
    sizes = parse_sizes(flags.shape)
    print(f"{'model':24} {'ONNX Runtime':>14} {'narrowgauge':>14} {'ratio':>7}  range")
    medians = {}
    for path in flags.models:
        inputs = inputs_of(path, sizes)
        session = session_of(path, flags.threads)
        with tempfile.TemporaryDirectory() as folder:
            arrays = os.path.join(folder, "inputs.npz")
            numpy.savez(arrays, **inputs)
            session.run(None, inputs)
            calls = max(3, min(300, int(0.3 / seconds(lambda: session.run(None, inputs), 3))))
            rounds = []
            for _ in range(flags.rounds):
                theirs = seconds(lambda: session.run(None, inputs), calls)
                rounds.append((theirs, ours(flags, path, arrays, calls)))
        ratios = [theirs / own for theirs, own in rounds]
        theirs, own = (statistics.median(column) * 1e3 for column in zip(*rounds))
        name = os.path.basename(os.path.dirname(path)) if path.endswith("/model.onnx") else \
            os.path.basename(path).removesuffix(".onnx")
        medians[name] = statistics.median(ratios)
        print(f"{name:24} {theirs:11.3f} ms {own:11.3f} ms {medians[name]:7.2f}  "
              f"{min(ratios):.2f}-{max(ratios):.2f}", flush=True)
    least = min(medians, key=medians.get)
    print(f"geometric mean {statistics.geometric_mean(medians.values()):.2f}")
    print(f"least          {medians[least]:.2f}, {least}")


if __name__ == "__main__":
    main()
