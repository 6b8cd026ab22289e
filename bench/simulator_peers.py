# SPDX-License-Identifier: Apache-2.0
"""The simulator beside other emulators of A100's f16: the same product, the same bits, by turns.

usage: simulator_peers.py BENCH_SIMULATOR [--model FILE.py] [--mma-sim FOLDER] [--sums N]

BENCH_SIMULATOR is the program bench_simulator. --model is a Python file with the function
fdpa(a, b, c, type, fraction, rounding, floor) (../shared/reference/tensor_core_model.py, unless
given), --mma-sim a checkout of github.com/microsoft/MMA-Sim, which needs torch. Each emulator
computes N dot products of 512 elements (4 unless given) that are compared with ours bit by bit;
exits with 7 where one differs.
"""
import argparse
import importlib.util
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

SIDE, DEPTH, TERMS = 128, 512, 8


def read(folder, name, code):
    data = (folder / f"{name}.bin").read_bytes()
    return struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data)


def by_model(path, a, b, _):
    spec = importlib.util.spec_from_file_location("model", path)
    model = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(model)
    unpack = lambda row: [model.dec(bits, 5, 10) for bits in row]

    def dot(i, j):
        x, y, bits = unpack(a[i]), unpack(b[j]), 0
        for k in range(0, DEPTH, TERMS):
            c = model.dec(bits, 8, 23)
            bits = model.fdpa(x[k:k + TERMS], y[k:k + TERMS], c, "fp16", 24, "RZ", -132)
        return bits

    return dot


def by_mma_sim(path, a, b, _):
    sys.path.insert(0, str(path))
    import torch
    from mmasim.simulator.arithmetic import nv_fused_dot_add

    def tensor(row):
        return torch.tensor(row, dtype=torch.int32).to(torch.int16).view(torch.float16)

    def dot(i, j):
        x, y = tensor(a[i]), tensor(b[j])
        c = torch.zeros((), dtype=torch.float32)
        for k in range(0, DEPTH, TERMS):
            c = nv_fused_dot_add(x[k:k + TERMS], y[k:k + TERMS], c, 24, "f32")
        return int(c.view(torch.int32)) & 0xFFFFFFFF

    return dot


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    reference = pathlib.Path(__file__).parents[2] / "shared/reference/tensor_core_model.py"
    parser.add_argument("program")
    parser.add_argument("--model", type=pathlib.Path, default=reference)
    parser.add_argument("--mma-sim", type=pathlib.Path)
    parser.add_argument("--sums", type=int, default=4)
    asked = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ours = lambda: float(subprocess.run([asked.program, "--dump", name], check=True,
                                            capture_output=True, text=True).stdout)
        ours()
        a, b = read(folder, "a", "H"), read(folder, "b", "H")
        d = read(folder, "d", "I")
        rows = lambda flat: [flat[i * DEPTH:(i + 1) * DEPTH] for i in range(SIDE)]
        for title, path, make in (("Python model", asked.model, by_model),
                                  ("MMA-Sim", asked.mma_sim, by_mma_sim)):
            if path is None or not path.exists():
                print(f"[SKIP] {title}: {path} is not there")
                continue
            dot = make(path, rows(a), rows(b), d)
            rates, own, wrong = [], [], 0
            for turn in range(asked.sums):
                own.append(ours())
                start = time.process_time()
                bits = dot(turn, 3 * turn)
                rates.append(DEPTH / (time.process_time() - start))
                wrong += bits != d[turn * SIDE + 3 * turn]
            median = lambda values: sorted(values)[len(values) // 2]
            print(f"{title}: {median(rates):.3g} products/s, ours {median(own):.3g} on one core: "
                  f"{median(own) / median(rates):.3g} times; {wrong} of {asked.sums} sums differ")
            failed |= wrong > 0
    return 7 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
