#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes matrix products of PyTorch on a GPU into FOLDER, for library_products.cpp.

usage: library_products.py FOLDER

Each line of products.txt has the format of the operands, rows, columns and depth, how many products
are added in the matrix unit before f32 takes over (0: all), and the name of three files of f32: a,
b transposed, and the result. Exit code 77: there is no PyTorch, or no H100 or H200.
"""

import pathlib
import sys

try:
    import torch
except ImportError:
    torch = None

SHAPES = [(64, 64, 64), (64, 64, 1024), (128, 256, 512), (1, 64, 1024)]


def f8_product(a, b, is_fast):
    one = torch.tensor(1.0, device=a.device)
    return torch._scaled_mm(a, b.t().contiguous().t(), scale_a=one, scale_b=one,
                            out_dtype=torch.float32, use_fast_accum=is_fast)


def products():
    """Yields (format, products added in the unit, a, b, a @ b in f32)."""
    for name, dtype in (("f16", torch.float16), ("bf16", torch.bfloat16)):
        for m, n, k in SHAPES:
            a = torch.randn(m, k, device="cuda").to(dtype)
            b = torch.randn(k, n, device="cuda").to(dtype)
            yield name, 0, a, b, torch.mm(a, b, out_dtype=torch.float32)
    for m, n, k in SHAPES[:3]:
        a = torch.randn(m, k, device="cuda").to(torch.float8_e4m3fn)
        b = torch.randn(k, n, device="cuda").to(torch.float8_e4m3fn)
        yield "f8e4m3", 0, a, b, f8_product(a, b, True)
        yield "f8e4m3", 128, a, b, f8_product(a, b, False)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if torch is None or not torch.cuda.is_available():
        sys.exit(77)
    if torch.cuda.get_device_capability() != (9, 0):
        sys.exit(77)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    lines = []
    for number, (name, chunk, a, b, d) in enumerate(products()):
        for what, matrix in (("a", a), ("b", b.t()), ("d", d)):
            values = matrix.float().contiguous().cpu().numpy()
            values.tofile(folder / f"{number}.{what}")
        lines.append(f"{name} {a.shape[0]} {b.shape[1]} {a.shape[1]} {chunk} {number}\n")
    (folder / "products.txt").write_text("".join(lines))
    print(f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, "
          f"{torch.cuda.get_device_name()}: {len(lines)} products")


if __name__ == "__main__":
    main()
