# SPDX-License-Identifier: Apache-2.0
"""Ranges for quantisation by NumPy, from the values themselves: tests/quantize/calibrators_cases.txt,
which tests/quantize/calibrators_test.cpp compares with those chosen from histograms, must be what this
script computes. --write writes it anew."""

import pathlib
import sys

import numpy as np

FILE = pathlib.Path(__file__).parent / "quantize" / "calibrators_cases.txt"
COUNT = 1 << 16


def uniform(count):
    """The numbers of a linear congruential generator, in [0, 1); exact, as all that follows."""
    numbers, state = [], 1
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        numbers.append(state >> 40)
    return np.array(numbers, np.float64) / (1 << 24)


def data():
    """By name: f32 values, which the test makes by the same sums and products."""
    u = uniform(12 * COUNT).reshape(COUNT, 12)
    normal = (u.sum(axis=1) - 6).astype(np.float32)
    cube = (normal * normal).astype(np.float32) * normal
    outlier = normal.copy()
    outlier[COUNT // 2] = 1000
    return {"normal": normal, "heavy_tail": cube, "positive_tail": np.abs(cube),
            "relu": np.maximum(normal, np.float32(0)),
            "uniform": (2 * u[:, 0] - 0.5).astype(np.float32), "outlier": outlier}


def order_statistic(values, share):
    ranks = np.sort(values)
    return ranks[max(int(np.ceil(share * len(ranks))) - 1, 0)]


def percentile(values, symmetric, percentage):
    if symmetric:
        limit = order_statistic(np.abs(values), percentage / 100)
        return -limit, limit
    tail = (1 - percentage / 100) / 2
    return min(order_statistic(values, tail), 0), max(order_statistic(values, 1 - tail), 0)


def divergence(counts, bins, levels):
    p = counts[:bins].astype(np.float64)
    q = np.zeros(bins)
    level = np.arange(bins) * levels // bins
    filled = p > 0
    for each in range(levels):
        inside = filled & (level == each)
        if inside.any():
            q[inside] = p[level == each].sum() / inside.sum()
    p[-1] += counts[bins:].sum()
    p, q = p / p.sum(), q / q.sum()
    seen = p > 0
    if (q[seen] == 0).any():
        return np.inf
    return (p[seen] * np.log(p[seen] / q[seen])).sum()


def entropy(values, symmetric):
    """Migacz, GTC 2017; with the divergence of the best clip."""
    sizes = np.abs(values[values != 0]).astype(np.float64)
    most = sizes.max()
    counts, _ = np.histogram(sizes, 2048, (0, most))
    levels = 256 if not symmetric and values.min() >= 0 else 128
    found = [divergence(counts, bins, levels) for bins in range(levels, 2049)]
    best = int(np.argmin(found)) + levels
    limit = min((best + 0.5) * most / 2048, most)
    low = -limit if symmetric else max(values.min(), -limit)
    return min(low, 0), limit if symmetric else min(max(values.max(), 0), limit), min(found)


def rounded(values, low, high, symmetric):
    if symmetric:
        step, first, last = high / 127, -127, 127
    else:
        step = (high - low) / 255
        first = np.rint(low / step)
        last = first + 255
    return np.clip(np.rint(values / step), first, last) * step


def mse(values, symmetric):
    """By trying many clips; with the mean squared error of the best one."""
    values = values.astype(np.float64)

    def error(low, high):
        return np.square(rounded(values, low, high, symmetric) - values).mean()

    low, high = min(values.min(), 0), max(values.max(), 0)
    most = max(-low, high)
    shares = np.exp2(-np.arange(0, 12, 1 / 50))
    if symmetric:
        found, limit = min((error(-most * s, most * s), most * s) for s in shares)
        return -limit, limit, found
    found, low, high = min((error(max(low, -most * s), min(high, most * s)), max(low, -most * s),
                            min(high, most * s)) for s in shares)
    ends = np.exp2(np.arange(-0.2, 0.2, 0.02))
    for _ in range(3):
        found, low = min((error(low * s, high), low * s) for s in ends)
        found, high = min((error(low, high * s), high * s) for s in ends)
    return low, high, found


def lines():
    yield "# data, symmetric, calibrator: low, high and, where there is one, what is least there"
    for name, values in data().items():
        for symmetric in (1, 0):
            most = np.abs(values).max()
            yield name, symmetric, "absmax", (-most, most) if symmetric else (
                min(values.min(), 0), max(values.max(), 0))
            for percentage in (99.99, 99):
                yield (name, symmetric, f"percentile({percentage})",
                       percentile(values, symmetric, percentage))
            yield name, symmetric, "entropy", entropy(values, symmetric)
            yield name, symmetric, "mse", mse(values, symmetric)


def text():
    made = ""
    for line in lines():
        if isinstance(line, str):
            made += line + "\n"
        else:
            numbers = " ".join(f"{float(number):.9g}" for number in line[3])
            made += f"{line[0]} {line[1]} {line[2]} {numbers}\n"
    return made


def alike(now, stored):
    """Words are the same, and numbers to the last digits of logarithms and sums."""
    now, stored = now.split(), stored.split()
    return len(now) == len(stored) and all(
        x == y or np.isclose(float(x), float(y), rtol=1e-6) for x, y in zip(now, stored))


def main():
    now = text()
    if "--write" in sys.argv:
        FILE.write_text(now)
        return 0
    same = alike(now, FILE.read_text())
    print("as stored" if same else "OTHER THAN STORED")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
