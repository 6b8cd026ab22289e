# SPDX-License-Identifier: Apache-2.0
"""Every f32 pattern to every narrow format, and every pattern of those back, equal to NumPy (f16),
ml_dtypes (bf16, the floats of 8 and 4 bits, int4) and, for tf32, a formula.

Numbers must have the same bits. Where the oracle has NaN, so must we, with the same sign where the
format has one; which NaN it is may differ and is counted. Three things are compared with what they
are defined to be instead, since ml_dtypes has its own: NaN in f4e2m1, which has none, is 6 (ONNX's
text; ml_dtypes: a zero); f32 to i4 rounds and saturates (ml_dtypes cuts off and wraps around); and
f8e8m0 of what lies between 2^-127 and 1.5 times that, 2,097,151 patterns, is the nearer power 2^-127
(ml_dtypes 0.6.0 and PyTorch 2.15: 2^-126)."""

import concurrent.futures
import os
import subprocess
import sys
import time

import ml_dtypes
import numpy as np

CHUNK = 1 << 24  # patterns at once

# dtype, bits of its patterns, sign, and the least magnitude that is NaN (None: there is none, or
# one pattern alone, which must be equal).
FORMATS = {
    "f16": (np.float16, np.uint16, 0x8000, 0x7C01),
    "bf16": (ml_dtypes.bfloat16, np.uint16, 0x8000, 0x7F81),
    "tf32": (None, np.uint32, 0x80000000, 0x7F800001),
    "f8e4m3fn": (ml_dtypes.float8_e4m3fn, np.uint8, 0x80, 0x7F),
    "f8e5m2": (ml_dtypes.float8_e5m2, np.uint8, 0x80, 0x7D),
    "f8e4m3fnuz": (ml_dtypes.float8_e4m3fnuz, np.uint8, 0x80, None),
    "f8e5m2fnuz": (ml_dtypes.float8_e5m2fnuz, np.uint8, 0x80, None),
    "f8e8m0": (ml_dtypes.float8_e8m0fnu, np.uint8, 0, 0xFF),
    "f4e2m1": (ml_dtypes.float4_e2m1fn, np.uint8, 0x8, None),
    "i4": (ml_dtypes.int4, np.uint8, 0, None),
}


def convert(formats, values):
    command = [os.environ["NARROWGAUGE_PROGRAM"], "formats", "--convert", formats]
    return subprocess.run(command, input=values.tobytes(), capture_output=True, check=True).stdout


def unpacked(data, count):
    halves = np.frombuffer(data, np.uint8)
    return np.stack([halves & 15, halves >> 4], axis=1).reshape(-1)[:count]


def packed(patterns):
    return (patterns[0::2] | patterns[1::2] << 4).astype(np.uint8)


def ours(name, values):
    data = convert(f"f32:{name}", values)
    if name in ("f4e2m1", "i4"):
        return unpacked(data, len(values))
    return np.frombuffer(data, FORMATS[name][1])


# Nearest even to 10 bits of fraction, from the bits of f32; NaN is any NaN.
def tf32(values):
    bits = values.view(np.uint32).astype(np.uint64)
    rest, kept = bits & 0x1FFF, bits >> 13
    up = (rest > 0x1000) | ((rest == 0x1000) & (kept & 1 == 1))
    rounded = ((kept + up) << 13).astype(np.uint32)
    return np.where(np.isnan(values), bits.astype(np.uint32) | 0x400000, rounded)


def theirs(name, values):
    if name == "tf32":
        return tf32(values)
    if name == "i4":
        whole = np.clip(np.rint(np.where(np.isnan(values), 0, values)), -8, 7)
        return whole.astype(np.int8).astype(ml_dtypes.int4).view(np.uint8) & 15
    dtype, bits, _, _ = FORMATS[name]
    patterns = values.astype(dtype).view(bits)
    if name == "f4e2m1":
        patterns = np.where(np.isnan(values), 7, patterns & 15)
    if name == "f8e8m0":
        between = (values > 2.0**-127) & (values < 1.5 * 2.0**-127)
        patterns = np.where(between, 0, patterns)
    return patterns


def compare(name, got, expected, where):
    """Counts of wrong results and of other NaNs."""
    _, _, sign, nan = FORMATS[name]
    if nan is None:
        wrong, other = got != expected, np.zeros(1, bool)
    else:
        mask = ~np.asarray(sign, got.dtype)
        both = ((got & mask) >= nan) & ((expected & mask) >= nan) & ((got ^ expected) & sign == 0)
        wrong, other = (got != expected) & ~both, (got != expected) & both
    for at in np.flatnonzero(wrong)[:3]:
        print(f"  {name}: {where(at)}: expected {expected[at]:#x}, got {got[at]:#x}")
    return int(wrong.sum()), int(other.sum())


def check_chunk(name, first):
    values = np.arange(first, first + CHUNK, dtype=np.uint64).astype(np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        expected = theirs(name, values)
    return compare(name, ours(name, values), expected, lambda at: f"f32 {first + int(at):#010x}")


def check_narrowing(name):
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        firsts = range(0, 1 << 32, CHUNK)
        counts = list(pool.map(lambda first: check_chunk(name, first), firsts))
    wrong, other = (sum(column) for column in zip(*counts))
    print(f"f32 to {name}: {1 << 32} patterns, {wrong} differ, {other} other NaNs,"
          f" {time.monotonic() - start:.0f} s", flush=True)
    return wrong


def check_widening(name):
    dtype, bits, sign, _ = FORMATS[name]
    halves = name in ("f4e2m1", "i4")
    patterns = np.arange(16 if halves else 1 << 8 * bits().itemsize, dtype=bits)
    got = convert(f"{name}:f32", packed(patterns) if halves else patterns)
    got = np.frombuffer(got, np.uint32)
    expected = patterns.view(dtype).astype(np.float32).view(np.uint32)
    nan = np.isnan(expected.view(np.float32)) & np.isnan(got.view(np.float32))
    nan &= (got ^ expected) >> 31 == 0 if sign else True
    wrong = int(((got != expected) & ~nan).sum())
    print(f"{name} to f32: {len(patterns)} patterns, {wrong} differ", flush=True)
    return wrong


def main():
    names = sys.argv[1:] or list(FORMATS)
    wrong = sum(check_widening(name) for name in names if name != "tf32")
    wrong += sum(check_narrowing(name) for name in names)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
