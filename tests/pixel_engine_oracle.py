# SPDX-License-Identifier: Apache-2.0
"""Engines that take pixels, in ONNX Runtime: what they give for bytes is what the same engine without
pixels gives for images that NumPy normalizes, in f32 and on bytes, for both layouts."""

import pathlib
import sys
import tempfile

from support.exported_models import run

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
# Root of mean squares of the difference, over that of the answers. On bytes an image may be rounded
# to a neighbouring one.
BOUNDS = {"f32": 1e-5, "int8": 1e-2}
SIDE, BATCH = 32, 8


def session_of(file):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def answers(file, images):
    session = session_of(file)
    return session.run(None, {session.get_inputs()[0].name: images})[0]


def convert(file, *flags):
    run("convert", "--model", "resnet20", "--image", f"3x{SIDE}x{SIDE}", "--calibrate", "random",
        "--onnx", file, "--quiet", *flags)


def check(folder, precision):
    import numpy
    import onnx

    pixels = numpy.random.default_rng(1).integers(0, 256, (BATCH, 3, SIDE, SIDE), numpy.uint8)
    axes = (1, 3, 1, 1)
    images = (pixels / 255 - numpy.reshape(MEAN, axes)) / numpy.reshape(DEVIATION, axes)
    plain = folder / "plain.onnx"
    convert(plain, "--precision", precision)
    wanted = answers(plain, images.astype(numpy.float32))
    good = True
    for layout, given in (("nchw", pixels), ("nhwc", pixels.transpose(0, 2, 3, 1))):
        file = folder / f"{layout}.onnx"
        convert(file, "--precision", precision, "--pixels", layout,
                "--mean", ",".join(map(str, MEAN)), "--deviation", ",".join(map(str, DEVIATION)))
        onnx.checker.check_model(str(file), full_check=True)
        off = answers(file, numpy.ascontiguousarray(given)) - wanted
        error = float(numpy.sqrt(numpy.mean(off**2) / numpy.mean(wanted**2)))
        print(f"{precision} {layout}: error {error:.1e}", flush=True)
        good = good and error <= BOUNDS[precision]
    return good


def main():
    with tempfile.TemporaryDirectory() as folder:
        results = [check(pathlib.Path(folder), precision) for precision in BOUNDS]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
