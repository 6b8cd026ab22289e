#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks in bytes, by turns with OpenVINO on its own quantised version of the same network.

Each network with its random weights is written as f32, quantised by `narrowgauge convert --precision
int8` and by NNCF (16 random samples, as the weights are random, too), and both versions answer by
turns in `narrowgauge bench --inference`. What is not in bytes runs in f32, in bf16 of bert-base;
OpenVINO tries both, and its faster one counts. Files that stand in --folder already are taken.
Needs onnxruntime, openvino and nncf: pip install openvino==2026.4.1 nncf==3.4.0 onnxruntime==1.32.0
"""
import argparse
import os
import subprocess
import sys

import numpy
import onnx

SAMPLES = 16


def random_inputs(path):
    generator = numpy.random.default_rng(1)

    def array(value):
        tensor = value.type.tensor_type
        dims = [max(dim.dim_value, 1) for dim in tensor.shape.dim]
        if tensor.elem_type == onnx.TensorProto.FLOAT:
            return generator.standard_normal(dims, dtype=numpy.float32)
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        most = 1000 if value.name == "input_ids" else 2
        array = generator.integers(0, most, dims)
        return (numpy.ones(dims) if "mask" in value.name else array).astype(dtype)

    graph = onnx.load(path, load_external_data=False).graph
    return [{value.name: array(value) for value in graph.input} for _ in range(SAMPLES)]


def simplified(path, result):
    """ONNX Runtime folds what NNCF would otherwise quantise in vain."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = result
    onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def quantise_with_nncf(name, path, result):
    import nncf

    kind = nncf.ModelType.TRANSFORMER if name.startswith("bert") else None
    quantised = nncf.quantize(
        onnx.load(path), nncf.Dataset(random_inputs(path)), subset_size=SAMPLES, model_type=kind,
        preset=nncf.QuantizationPreset.PERFORMANCE)
    onnx.save(quantised, result)


def prepared_files(program, name, folder):
    """Paths of our and of NNCF's version of a network."""
    def file(kind):
        return os.path.join(folder, f"{name}_{kind}.onnx")

    def convert(kind):
        if not os.path.exists(file(kind)):
            subprocess.run([program, "convert", "--model", name, "--precision", kind, "--calibrate",
                            "random", "--samples", str(SAMPLES), "--test-samples", "4", "--no-cache",
                            "--quiet", "--onnx", file(kind)], check=True)

    convert("f32")
    convert("int8")
    if not os.path.exists(file("simple")):
        simplified(file("f32"), file("simple"))
    if not os.path.exists(file("nncf")):
        quantise_with_nncf(name, file("simple"), file("nncf"))
    return file("int8"), file("nncf")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=["resnet50", "mobilenet_v2", "bert-base"])
    parser.add_argument("--program", default="build/release/narrowgauge")
    parser.add_argument("--folder", required=True, help="keeps the files of the networks")
    parser.add_argument("--batch", default="1,32")
    parser.add_argument("--iterations", default="7")
    flags = parser.parse_args()
    os.makedirs(flags.folder, exist_ok=True)
    environment = {"NARROWGAUGE_TORCH_PYTHON": sys.executable, **os.environ}
    for name in flags.models:
        own, theirs = prepared_files(flags.program, name, flags.folder)
        rest = "bf16" if name.startswith("bert") else "ieee"
        subprocess.run([flags.program, "bench", "--inference", own, "--batch", flags.batch,
                        "--precision", rest, "--iterations", flags.iterations, "--against",
                        "openvino", "--peer-file", f"openvino={theirs}"], check=True,
                       env=environment)


if __name__ == "__main__":
    main()
