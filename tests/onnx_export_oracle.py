# SPDX-License-Identifier: Apache-2.0
"""Files that `export` writes, against ONNX's checker and ONNX Runtime: networks of our own and
models from outside, in f32, f16 and bf16. ONNX Runtime's outputs for the file must be those of the
network that was exported: of our program, or of ONNX Runtime for a model from outside in f32. The
file, exported again, must hold the same nodes."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

from support.exported_models import PROGRAM, nodes_of, run

BUILTIN = {
    "mlp": [],
    "lenet": [],
    "resnet20": [],
    "resnet18": ["--image", "3x64x64"],
    "densenet121": ["--image", "3x64x64"],
    "mobilenet_v2": ["--image", "3x64x64"],
    "vit-small": [],
    "bert-base": ["--sequence", "16"],
}
# The bounds of differences, over the largest number of an output. Sums are taken in another order;
# in narrow formats a difference in the last bit of f32 may be one of the format after rounding.
BOUNDS = {"off": 2e-5, "f16": 2e-2, "bf16": 1e-1}
BATCH = 2
# Which branch of an If is taken depends on an input, whose value must be known.
KNOWN = {
    "silero_vad_16k_op15": ["--value", "sr=16000", "--shape", "input=1x576",
                            "--shape", "state=2x1x128"],
}



def export(source, file, amp):
    return json.loads(run("export", *source, "--onnx", file, "--amp", amp, "--json"))


def stored_inputs(session, folder):
    """Those of a test case beside the model."""
    import onnx

    inputs = {}
    for i, entry in enumerate(session.get_inputs()):
        tensor = onnx.load_tensor(str(folder / f"input_{i}.pb"))
        inputs[entry.name] = onnx.numpy_helper.to_array(tensor)
    return inputs


def inputs_for(file):
    import numpy

    session = session_of(file)
    stored = pathlib.Path(file).parent / "test_data_set_0"
    if stored.exists():
        return stored_inputs(session, stored)
    random = numpy.random.default_rng(1)
    inputs = {}
    for entry in session.get_inputs():
        shape = [size if isinstance(size, int) else BATCH for size in entry.shape]
        if entry.type == "tensor(float)":
            inputs[entry.name] = random.standard_normal(shape).astype(numpy.float32)
        elif entry.type == "tensor(bool)":
            inputs[entry.name] = random.integers(0, 2, shape) == 1
        else:
            dtype = numpy.int32 if entry.type == "tensor(int32)" else numpy.int64
            inputs[entry.name] = random.integers(0, 2, shape).astype(dtype)
    return inputs


def difference(found, expected):
    """The largest of all outputs; None where the format cannot hold what is expected."""
    import numpy

    if found.keys() != expected.keys():
        return float("inf")
    if not all(numpy.isfinite(array).all() for array in expected.values()):
        return None
    worst = 0.0
    for name, array in expected.items():
        if found[name].shape != array.shape or found[name].dtype != array.dtype:
            return float("inf")
        distance = numpy.abs(found[name].astype(float) - array.astype(float)).max(initial=0.0)
        worst = max(worst, distance / max(numpy.abs(array).max(initial=0.0), 1e-30))
    return worst


def our_outputs(file, amp, inputs, folder):
    import numpy

    given, made = folder / "inputs.npz", folder / "outputs.npz"
    numpy.savez(given, **inputs)
    math = ["--math", "ieee"] if amp == "off" else []
    run("run", file, "--input", given, "--output", made, "--amp", amp, *math, "--quiet")
    with numpy.load(made) as outputs:
        return dict(outputs)


def session_of(file):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(file, options, ["CPUExecutionProvider"])


def runtime_outputs(file, inputs):
    session = session_of(file)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, inputs)))


def compare(title, source, original, amp, folder):
    """`original`: a file that our program runs in `amp` to know what it computes."""
    import onnx

    file, again = folder / "exported.onnx", folder / "again.onnx"
    facts = export(source, file, amp)
    onnx.checker.check_model(str(file), full_check=True)
    export([file], again, "off")
    same = nodes_of(file) == nodes_of(again)
    inputs = inputs_for(original)
    expected = our_outputs(original, amp, inputs, folder)
    graph = onnx.load(file, load_external_data=False).graph
    kept = {value.name: inputs[value.name] for value in graph.input}
    imported = difference(our_outputs(file, "off", kept, folder), expected)
    in_runtime, note = difference_in_runtime(file, original, amp, inputs, kept, expected)
    # Written so that NaN disagrees.
    agree = all(off is None or off <= BOUNDS[amp] for off in (imported, in_runtime))
    verdict = "" if agree else " TOO FAR"
    verdict += "" if same else " EXPORTED AGAIN, IT HAS OTHER NODES"
    print(
        f"{title} {amp}: opset {facts['opset']}, {facts['nodes']} nodes, off by "
        f"{text_of(in_runtime)}, imported by {text_of(imported)}{note}{verdict}",
        flush=True,
    )
    return agree and same


def text_of(off):
    return "-" if off is None else f"{off:.1e}"


def difference_in_runtime(file, original, amp, inputs, kept, expected):
    """None where ONNX Runtime cannot run it, with a remark. `kept`: the inputs that it still has."""
    try:
        found = runtime_outputs(file, kept)
        if amp == "off" and original.name != "original.onnx":
            expected = runtime_outputs(original, inputs)
    except Exception as error:
        if amp != "bf16" or "NOT_IMPLEMENTED" not in str(error):
            raise
        return None, "; ONNX Runtime has no kernels for it in bf16"
    off = difference(found, expected)
    return off, "; not finite in this format" if off is None else ""


# Samples of ops that ONNX's checker refuses although ONNX's text does not, and dtypes that only we
# take: 8-bit floats as scales, i32 as indices.
UNCHECKED = ("BitwiseNot_", "DequantizeLinear_", "Einsum_", "GatherND_", "QuantizeLinear_", "STFT_")


def check_ops(folder):
    """The checker on every op that the test over all ops exports, in f32."""
    import onnx

    program = PROGRAM.parent / "tests" / "all_ops_onnx_export_test"
    surroundings = {**os.environ, "NARROWGAUGE_EXPORTED": str(folder)}
    subprocess.run([program], env=surroundings, check=True, stdout=subprocess.DEVNULL)
    refused, files = 0, sorted(folder.glob("*_f32_*.onnx"))
    for file in files:
        try:
            onnx.checker.check_model(str(file), full_check=True)
        except Exception as error:
            ours = "has unsupported type" in str(error)  # a dtype that only we take
            if not ours and not file.name.startswith(UNCHECKED):
                print(f"{file.name}: {error}")
                refused += 1
    print(f"{len(files)} samples of ops, {refused} refused by ONNX's checker", flush=True)
    return len(files) > 0 and refused == 0


def cases(folder):
    for name, flags in BUILTIN.items():
        original = folder / "original.onnx"
        export(["--model", name, *flags], original, "off")
        yield name, ["--model", name, *flags], original
    source = pathlib.Path(os.environ.get("NARROWGAUGE_SOURCE", "."))
    data = pathlib.Path(os.environ.get("NARROWGAUGE_DATA", source / ".." / "shared" / "data"))
    for file in sorted(data.glob("onnx_models/*/model.onnx")):
        yield file.parent.name, [file, *KNOWN.get(file.parent.name, [])], file
    archive = data / "onnx_backend" / "light.tar.xz"
    if archive.exists():
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
    for file in sorted(folder.glob("light/*.onnx")):
        yield file.stem, [file], file


def main():
    for package in ("onnx", "onnxruntime"):
        if importlib.util.find_spec(package) is None:
            print(f"[SKIP] {package} is not installed")
            return 0
    with tempfile.TemporaryDirectory() as temporary:
        failed = not check_ops(pathlib.Path(temporary))
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for title, source, original in cases(folder):
            for amp in BOUNDS:
                try:
                    failed |= not compare(title, source, original, amp, folder)
                except Exception as error:
                    print(f"{title} {amp}: FAILED: {error}", flush=True)
                    failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
