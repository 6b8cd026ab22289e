#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Readers against independent ones: pictures in every format, mode and compression against Pillow, of
photographs and of random pixels, to the pixel (JPEG to 1 of 255); the spectrograms of sounds against
NumPy's, in f64, of samples that Python's wave module reads, to 1 of 255; tables, with quotes, missing
values, texts, dates and separators, against pandas."""

import csv
import io
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import wave

import numpy as np
import onnx
import pandas
from onnx import helper
from PIL import Image

PROGRAM = os.environ["NARROWGAUGE_PROGRAM"]
SOURCE = pathlib.Path(os.environ["NARROWGAUGE_SOURCE"])
BUILD = pathlib.Path(os.environ["NARROWGAUGE_BUILD"])
DATA = pathlib.Path(os.environ.get("NARROWGAUGE_DATA", SOURCE.parent / "shared" / "data"))
PHOTOGRAPHS = 40


def save_identity(path, channels):
    """A network of ONNX that gives the pixels it gets, of any size."""
    kind, shape = onnx.TensorProto.UINT8, [1, channels, "h", "w"]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "pixels",
                              [helper.make_tensor_value_info("x", kind, shape)],
                              [helper.make_tensor_value_info("y", kind, shape)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              path)


def our_pixels(folder, picture, channels):
    network = folder / f"identity{channels}.onnx"
    if not network.exists():
        save_identity(network, channels)
    done = subprocess.run([PROGRAM, "run", network, "--input", f"x={picture}", "--output",
                           folder / "pixels.npz", "--quiet"], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        return done.stderr.strip()
    return np.load(folder / "pixels.npz")["y"][0].transpose(1, 2, 0)


def their_pixels(picture, channels):
    image = Image.open(picture)
    if image.mode.startswith("I;16"):  # the upper 8 bits are kept
        return (np.asarray(image) >> 8).astype(np.uint8)[..., None].repeat(channels, axis=2)
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:  # dropped
        image = image.convert("RGBA").convert("RGB") if image.mode != "LA" else image.getchannel(0)
    pixels = np.asarray(image.convert("RGB" if channels == 3 else "L"))
    return pixels if channels == 3 else pixels[..., None]


def drawn(dice, mode, size):
    """Random pixels over a slope, so that lossy formats have something to keep."""
    width, height = size
    bands = {"1": 1, "L": 1, "P": 1, "LA": 2, "RGB": 3, "RGBA": 4, "CMYK": 4}.get(mode, 1)
    slope = np.linspace(0, 150, width)[None, :, None] + np.linspace(0, 80, height)[:, None, None]
    pixels = (slope + dice.integers(0, 25, (height, width, bands))).clip(0, 255).astype(np.uint8)
    if mode == "I;16":
        return Image.fromarray(dice.integers(0, 1 << 16, (height, width)).astype(np.uint16))
    if mode == "1":
        return Image.fromarray(pixels[..., 0]).convert("1")
    if mode == "P":
        return Image.fromarray(pixels[..., 0]).convert("RGB").quantize(37)
    return Image.fromarray(pixels[..., 0] if bands == 1 else pixels, mode)


def drawn_pictures(folder, dice):
    """Writes a picture for each way to write one; yields (path, difference that is allowed)."""
    ways = [("png", mode, options, 0) for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")
            for options in ({}, {"compress_level": 0}, {"optimize": True})]
    ways += [("jpg", mode, options, 1) for mode in ("L", "RGB", "CMYK")
             for options in ({"quality": 30}, {"quality": 95}, {"progressive": True},
                             {"optimize": True}, {"restart_marker_blocks": 2})]
    ways += [("jpg", "RGB", {"subsampling": how, "quality": 80}, 1) for how in (0, 1, 2)]
    ways += [("webp", mode, options, 0) for mode in ("RGB", "RGBA")
             for options in ({"quality": 60}, {"lossless": True}, {"quality": 5, "method": 0})]
    ways += [("bmp", mode, {}, 0) for mode in ("1", "L", "P", "RGB")]
    ways += [("ppm", "RGB", {}, 0), ("pgm", "L", {}, 0), ("pbm", "1", {}, 0)]
    for number, (end, mode, options, allowed) in enumerate(ways):
        for size in ((1, 1), (7, 3), (16, 16), (61, 45)):
            path = folder / f"{number}_{size[0]}.{end}"
            drawn(dice, mode, size).save(path, **options)
            yield path, allowed


def photographs(folder):
    for archive in sorted((DATA / "detection").glob("**/*.tar*")):
        with tarfile.open(archive) as tar:
            names = [name for name in tar.getnames() if name.lower().endswith((".jpg", ".jpeg"))]
            for name in sorted(names)[:PHOTOGRAPHS]:
                path = folder / pathlib.Path(name).name
                path.write_bytes(tar.extractfile(name).read())
                yield path, 1
    for path in sorted((DATA / "detection").glob("**/*.jpg"))[:PHOTOGRAPHS]:
        yield path, 1


def check_pictures(failures):
    dice = np.random.default_rng(3)
    count = largest = differing = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for path, allowed in [*drawn_pictures(folder, dice), *photographs(folder)]:
            for channels in (3, 1):
                ours, theirs = our_pixels(folder, path, channels), their_pixels(path, channels)
                count += 1
                if isinstance(ours, str) or ours.shape != theirs.shape:
                    failures.append(f"{path.name}: {ours if isinstance(ours, str) else ours.shape}")
                    continue
                off = int(np.abs(ours.astype(int) - theirs).max())
                largest, differing = max(largest, off), differing + (off > 0)
                if off > allowed:
                    failures.append(f"{path.name}, {channels} channels: off by {off}")
    print(f"pictures: {count}, of which {differing} differ, by {largest} of 255 at most")


def make_table(dice, rows, separator, has_header):
    """A table as a person has it: (text, its numbers by column, its labels)."""
    numbers = {"width": dice.normal(size=rows) * 1e3, "count": dice.integers(-50, 5000, rows),
               "tiny": dice.normal(size=rows) * 1e-9}
    missing = dice.random(rows) < 0.1
    texts = dice.choice(["red", "deep, dark blue", 'a "quoted" word', "grün", "two\nlines"], rows)
    labels = dice.choice(["cat", "dog", "bird"], rows)
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=separator, lineterminator="\r\n" if rows % 2 else "\n")
    if has_header:
        writer.writerow([*numbers, "half", "colour", "label"])
    half = dice.normal(size=rows)
    for i in range(rows):
        writer.writerow([repr(float(numbers["width"][i])), int(numbers["count"][i]),
                         f"{numbers['tiny'][i]:.6e}", "" if missing[i] else f"{half[i]:.4f}",
                         texts[i], labels[i]])
    return stream.getvalue()


def their_table(text, separator, has_header):
    """The features as the documentation of read_table() has them, made by pandas."""
    frame = pandas.read_csv(io.StringIO(text), sep=separator, header=0 if has_header else None,
                            keep_default_na=False, na_values=[""])
    columns = list(frame.columns)
    features = []
    for column in columns[:-1]:
        values = frame[column]
        if values.dtype.kind in "if":
            gap = values.isna()
            features.append(values.fillna(values.mean()).to_numpy(np.float64))
            if gap.any():
                features.append(gap.to_numpy(np.float64))
        else:
            for word in sorted(values.unique(), key=lambda word: word.encode()):
                features.append((values == word).to_numpy(np.float64))
    labels = frame[columns[-1]]
    names = sorted(labels.unique(), key=lambda word: word.encode())
    return np.stack(features, axis=1), np.array([names.index(label) for label in labels])


def check_tables(failures):
    dice = np.random.default_rng(5)
    program = BUILD / "bench" / "bench_table_answers"
    count = 0
    for rows in (3, 40, 2001):
        for separator, end in ((",", "csv"), ("\t", "tsv"), (";", "csv")):
            for has_header in (True, False):
                text = make_table(dice, rows, separator, has_header)
                with tempfile.TemporaryDirectory() as name:
                    path = pathlib.Path(name) / f"table.{end}"
                    path.write_bytes(text.encode())
                    done = subprocess.run([program, path, f"{name}/out.npz"], capture_output=True,
                                          text=True, check=False)
                    what = f"table of {rows} rows by {separator!r}, header {has_header}"
                    count += 1
                    if done.returncode:
                        failures.append(f"{what}: {done.stderr.strip()}")
                        continue
                    saved = np.load(f"{name}/out.npz")
                x, y = their_table(text, separator, has_header)
                if saved["x"].shape != x.shape:
                    failures.append(f"{what}: {saved['x'].shape} features, pandas has {x.shape}")
                elif not np.allclose(saved["x"], x.astype(np.float32), rtol=1e-6, atol=0):
                    failures.append(f"{what}: other numbers")
                elif not np.array_equal(saved["y"].ravel(), y):
                    failures.append(f"{what}: other labels")
    print(f"tables: {count}")


def spectrogram(path):
    """64 mel bands from 125 to 7,500 Hz of a Hann window of 25 ms every 10 ms, 80 dB in 256 steps."""
    with wave.open(str(path)) as file:
        rate, channels, count = file.getframerate(), file.getnchannels(), file.getnframes()
        samples = np.frombuffer(file.readframes(count), np.int16).reshape(-1, channels).mean(1) / 32768
    window, hop = int(0.025 * rate + 0.5), int(0.010 * rate + 0.5)
    size = 1 << (window - 1).bit_length()
    hann = np.sin(np.pi * np.arange(window) / window) ** 2
    frames = np.stack([samples[at:at + window] * hann
                       for at in range(0, len(samples) - window + 1, hop)])
    powers = np.abs(np.fft.rfft(frames, size)) ** 2
    mel = 1127 * np.log1p(np.arange(size // 2 + 1) * rate / size / 700)
    edges = np.linspace(1127 * np.log1p(125 / 700), 1127 * np.log1p(7500 / 700), 66)
    rising = (mel[:, None] - edges[None, :-2]) / (edges[1] - edges[0])
    bands = powers @ np.clip(np.minimum(rising, 2 - rising), 0, None)
    with np.errstate(divide="ignore"):
        light = 1 + 10 * np.log10(bands / bands.max()) / 80
    return np.rint(255 * np.clip(light, 0, None)).T[::-1, :, None]


def check_sounds(failures):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with tarfile.open(DATA / "audio" / "ljspeech_sample32.tar.xz") as archive:
            archive.extractall(folder, filter="data")
        sounds = sorted(folder.rglob("*.wav"))
        steps, apart = 0, 0
        for sound in sounds:
            ours, theirs = our_pixels(folder, sound, 1), spectrogram(sound)
            if isinstance(ours, str) or ours.shape != theirs.shape:
                failures.append(f"{sound.name}: {ours if isinstance(ours, str) else ours.shape}")
                continue
            difference = np.abs(ours.astype(int) - theirs)
            steps, apart = max(steps, difference.max()), apart + (difference > 0).sum()
        print(f"{len(sounds)} sounds: at most {steps:g} of 255 apart, {apart} pixels differ")
        if steps > 1 or not sounds:
            failures.append("sounds: the spectrograms differ")


def main():
    failures = []
    check_pictures(failures)
    check_sounds(failures)
    check_tables(failures)
    print("\n".join(failures[:20]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
