#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random command lines: of whatever is typed the program makes one of its documented exit codes, with a
line on stderr where it is not 0, without a crash, and in little memory. What still runs after some
seconds is interrupted, and has to end.

usage: command_lines_oracle.py [LINES [SEED]]
"""

import collections
import os
import pathlib
import random
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = os.environ["NARROWGAUGE_PROGRAM"]
DOCUMENTED = {0, 2, 3, 4, 5, 6, 7, 130}
PATIENCE, TO_STOP = 4.0, 60.0  # seconds before an interruption, and for it
MOST_MEMORY = 3 << 20  # KiB
ADDRESSES = 12 << 30  # bytes, of which libraries reserve many

FLAG = re.compile(r"^ {2}((?:-\w,)?--[\w-]+|-\w)(?: (\S+))?")
MODELS = ["mlp", "lenet", "resnet20", "tiny-transformer", "lstm", "unet-small", "autoencoder",
          "nothing"]
DATA = ["glyphs", "set.csv", "text.txt", "photos", "broken.npz", "empty", "nowhere", "run", "/", "."]
FILES = ["set.csv", "text.txt", "broken.npz", "broken.onnx", "empty", "run", "run/run.json", "photos",
         "photos/a/0.pgm", "nowhere/x", "out.csv", "out.npz", "out.html", "new", "/dev/null", "", "-"]
NUMBERS = ["0", "1", "2", "3", "16", "-1", "0.5", "1e-3", "1e30", "nan", "inf", "2147483648",
           "9223372036854775808", "1e400", "0x10", "1,2,3", "16,16,16", "3x8x8", "1x28x28", "1e5", "٣"]
WORDS = ["f16", "bf16", "off", "auto", "ieee", "f32", "tf32", "sim:h100", "sim:h100:f8e4m3", "sim:",
         "dynamic", "adam", "sgd(momentum=0.9)", "cosine", "accuracy", "f1,auc", "top0", "crop(2)",
         "focal(gamma=3)", "avx2", "h100,ieee", "[1,2]", "[[1],[2]]", "[", "[1e39]", "x=set.csv", "x=",
         "cpu", "cuda", "5min", "20", "conv1", "*", "**", "a.*", "head.*: rate=10", "🙂", "a b",
         "--", "\x1b[31m", "%s%n", "$(true)", "'", "../..", "character", "word(most=5)"]


def subcommands():
    text = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True).stdout
    listed = text.split("Subcommands:")[1].split("examples:")[0]
    return re.findall(r"^ {2}(\w+) ", listed, re.MULTILINE)


def flags_of(command):
    text = subprocess.run([PROGRAM, command, "--help"], capture_output=True, text=True,
                          check=True).stdout
    found = [FLAG.match(line) for line in text.splitlines()]
    return [(match[1].split(",")[-1], match[2]) for match in found if match]


def value_for(flag, dice):
    if dice.random() < 0.15:
        return dice.choice(FILES + NUMBERS + WORDS + MODELS + DATA)
    if flag == "--model":
        return dice.choice(MODELS)
    if flag == "--data":
        return dice.choice(DATA)
    if flag in ("--output", "--save", "--config", "--plot", "--weights", "--resume", "--onnx"):
        return dice.choice(FILES)
    return dice.choice(NUMBERS if dice.random() < 0.5 else WORDS)


def command_line(flags, dice):
    if dice.random() < 0.02:
        return [dice.choice(WORDS + FILES) for _ in range(dice.randrange(4))]
    command = dice.choice(list(flags))
    words = [command]
    if command in ("evaluate", "predict", "report", "generate", "data", "run", "export", "simulate",
                   "explain") and dice.random() < 0.6:
        words.append(dice.choice(FILES + DATA + ["[1,2]", "[[1,0],[0,1]]"]))
    if command == "train" and dice.random() < 0.7:
        words += ["--model", dice.choice(MODELS[:3]), "--data", dice.choice(DATA[:3]), "--epochs", "1"]
    for flag, takes in dice.sample(flags[command], dice.randrange(min(6, len(flags[command]) + 1))):
        words.append(flag)
        if takes and dice.random() < 0.95:
            words.append(value_for(flag, dice))
    return words


def make_files(folder):
    rows = "".join(f"{i},{i * i % 7},{'ab'[i % 2]}\n" for i in range(40))
    (folder / "set.csv").write_text("width,height,label\n" + rows)
    (folder / "text.txt").write_text("to be or not to be, that is the question\n" * 60)
    (folder / "broken.npz").write_bytes(b"PK\3\4" + bytes(range(200)))
    (folder / "broken.onnx").write_bytes(b"\x08\x07\x12\x04" + bytes(range(100)))
    (folder / "empty").write_bytes(b"")
    for name in "ab":
        (folder / "photos" / name).mkdir(parents=True)
        for i in range(6):
            pixels = " ".join(str((i * j + ord(name)) % 256) for j in range(64))
            (folder / "photos" / name / f"{i}.pgm").write_text(f"P2 8 8 255\n{pixels}\n")
    subprocess.run([PROGRAM, "train", "--model", "mlp", "--data", "set.csv", "--epochs", "1",
                    "--batch", "8", "--output", "run", "--quiet"], cwd=folder, check=True)


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run_line(words, folder):
    """What is wrong with a run, or ""; its exit code; and whether it was interrupted."""
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen([PROGRAM, *words], cwd=folder, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=errors, preexec_fn=limited,
                                 env={**os.environ, "TERM": "dumb"})
        begin, stopped, interrupted = time.monotonic(), False, False
        while True:
            pid, status, used = os.wait4(child.pid, os.WNOHANG)
            if pid:
                break
            waited = time.monotonic() - begin
            if waited > PATIENCE and not interrupted:
                child.send_signal(signal.SIGINT)
                interrupted = True
            if waited > PATIENCE + TO_STOP:
                child.kill()
                stopped = True
            time.sleep(0.005)
        child.returncode = os.waitstatus_to_exitcode(status)
        code = 128 - child.returncode if child.returncode == -signal.SIGINT else child.returncode
        errors.seek(0)
        text = errors.read().decode(errors="replace")
    if stopped:
        return "it did not end when it was interrupted", code, interrupted
    if code not in DOCUMENTED:
        return f"exit code {code}: {text[-300:]}", code, interrupted
    if "internal error" in text:
        return text[-300:], code, interrupted
    if code not in (0, 130) and not text.strip():
        return f"exit code {code} without a word", code, interrupted
    if used.ru_maxrss > MOST_MEMORY:
        return f"{used.ru_maxrss >> 10} MiB", code, interrupted
    return "", code, interrupted


def main():
    lines = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    dice = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    flags = {command: flags_of(command) for command in subcommands()}
    codes, failures, interruptions = collections.Counter(), 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_files(folder)
        for _ in range(lines):
            words = command_line(flags, dice)
            wrong, code, interrupted = run_line(words, folder)
            codes[code] += 1
            interruptions += interrupted
            if wrong:
                failures += 1
                print(f"narrowgauge {shlex.join(words)}\n  {wrong}", flush=True)
    print(f"{lines} command lines, {failures} wrong, {interruptions} interrupted; exit codes "
          + ", ".join(f"{code}: {count}" for code, count in sorted(codes.items())))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
