# SPDX-License-Identifier: Apache-2.0
"""Files of numpy and ours: what numpy and Python's zipfile write is read, and what we write is the
same to them, to the last byte where numpy's own writer gives one answer."""

import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

CODES = "<f2 <f4 <f8 >f2 >f4 >f8 |i1 <i2 <i4 <i8 >i2 >i4 >i8 |u1 <u2 <u4 <u8 >u2 >u4 >u8 |b1".split()
SHAPES = [(), (1,), (7,), (3, 0), (2, 3), (4, 1, 5), (2, 3, 4, 5)]


def arrays(rng):
    for code in CODES:
        for shape in SHAPES:
            dtype = np.dtype(code)
            bits = rng.integers(0, 2 if code == "|b1" else 256, (*shape, dtype.itemsize), np.uint8)
            array = np.ascontiguousarray(bits).view(dtype).reshape(shape)
            name = f"{code[1:]}_{'le' if code[0] != '>' else 'be'}_{'x'.join(map(str, shape))}"
            yield name, array
            if len(shape) > 1:
                yield name + "_fortran", np.asfortranarray(array)


def same(mine, theirs):
    # Every bit, in the machine's byte order.
    native = theirs.astype(theirs.dtype.newbyteorder("="))
    equal = mine.dtype == native.dtype and mine.shape == native.shape
    return equal and np.ascontiguousarray(mine).tobytes() == np.ascontiguousarray(native).tobytes()


def copy_all(folder):
    (folder / "copies").mkdir()
    program = pathlib.Path(os.environ["NARROWGAUGE_BUILD"]) / "tests" / "io_npz_test"
    subprocess.run([program, "--gtest_filter=npz.files_of_numpy_are_copied"], check=True,
                   env=os.environ | {"NARROWGAUGE_NPZ_FOLDER": str(folder)},
                   stdout=subprocess.DEVNULL)


def main():
    rng = np.random.default_rng(1)
    mine = dict(arrays(rng))
    failed = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for key, array in mine.items():
            np.save(folder / f"{key}.npy", array)
        np.savez(folder / "plain.npz", **mine)
        np.savez_compressed(folder / "packed.npz", **mine)
        # What holds bfloat16 and float8_e4m3fn, but for the byte order that ml_dtypes names.
        np.save(folder / "bf16.npy", np.arange(512, dtype="<u2").view("V2"))
        np.save(folder / "f8.npy", np.arange(256, dtype="u1").view("V1"))
        np.savez(folder / "large_packed.npz", a=np.zeros((3000, 1000), "f4"))
        copy_all(folder)
        copies = folder / "copies"
        for key, array in mine.items():
            if not same(np.load(copies / f"{key}.npy"), array):
                failed.append(key)
            plain = array.dtype.byteorder != ">" and not key.endswith("_fortran")
            both = [(at / f"{key}.npy").read_bytes() for at in (folder, copies)]
            if plain and both[0] != both[1]:
                failed.append(key + " (bytes)")
        for archive in ("plain", "packed", "large_packed"):
            with zipfile.ZipFile(copies / f"{archive}.npz") as file:
                if file.testzip():
                    failed.append(archive + " (zipfile)")
            ours, theirs = np.load(copies / f"{archive}.npz"), np.load(folder / f"{archive}.npz")
            if ours.files != theirs.files:
                failed.append(archive + " (names)")
            failed += [f"{archive}:{key}" for key in theirs.files
                       if not same(ours[key], theirs[key])]
        for key in ("bf16", "f8"):
            if not same(np.load(copies / f"{key}.npy"), np.load(folder / f"{key}.npy")):
                failed.append(key)
        small = (copies / "large_packed.npz").stat().st_size
    print(f"{len(mine)} arrays, as files and in archives; {len(failed)} differ; "
          f"12 MB of zeros packed into {small} bytes")
    for key in failed[:20]:
        print("differs:", key)
    return 1 if failed or small > 100_000 else 0


if __name__ == "__main__":
    sys.exit(main())
