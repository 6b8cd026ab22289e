# SPDX-License-Identifier: Apache-2.0
"""Checks programs and libraries as the linker left them: where they look for others, which never is
the folder one happens to be in, that what protects against broken memory is there, and that programs
have what nothing calls (--says)."""

import pathlib
import re
import subprocess
import tempfile

import project

ABSOLUTE = re.compile(r"/|\$ORIGIN(/|$)")

def search_path_errors(dynamic):
    """What is wrong with RPATH and RUNPATH in readelf's listing of the dynamic section."""
    paths = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic)
    depends = [path for path in paths if not all(map(ABSOLUTE.match, path.split(":")))]
    return [f"RUNPATH [{path}] depends on the current folder" for path in depends]


def linker_errors(dynamic, segments):
    """What the linker was not told, by readelf's listings of the dynamic section and the segments."""
    errors = []
    if "GNU_RELRO" not in segments:
        errors.append("no RELRO: tables of the loader stay writable")
    if not re.search(r"\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*\bNOW\b", dynamic):
        errors.append("no BIND_NOW: functions are looked up when they are first called")
    if re.search(r"GNU_STACK.*\bRWE\b", segments):
        errors.append("the stack can be executed")
    if "(SONAME)" not in dynamic and not re.search(r"\(FLAGS_1\).*\bPIE\b", dynamic):
        errors.append("no PIE: the program lies at a fixed address")
    return errors


def compiler_errors(symbols):
    """What the compiler was not told, by the names of the functions that are called."""
    errors = []
    if "__stack_chk_fail" not in symbols:
        errors.append("no stack protector: nothing calls __stack_chk_fail")
    if not re.search(r"\b__(?!stack)\w+_chk\b", symbols):
        errors.append("no _FORTIFY_SOURCE: nothing calls a checked function such as __memcpy_chk")
    return errors


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def run_errors(program):
    """Runs it in a folder with files that are no libraries and are called like those it needs."""
    with tempfile.TemporaryDirectory() as folder:
        for name in re.findall(r"\(NEEDED\).*\[(lib.*)\]", output_of("readelf", "-dW", program)):
            (pathlib.Path(folder) / name).write_text("not a library\n")
        result = subprocess.run(
            [program, "--version"], cwd=folder, capture_output=True, text=True, check=False
        )
    return [] if result.returncode == 0 else [f"in a folder of others: {result.stderr.strip()}"]


def check(_root, options):
    errors = []
    for path in options.files:
        file = str(path.resolve())
        dynamic, segments = output_of("readelf", "-dW", file), output_of("readelf", "-lW", file)
        found = search_path_errors(dynamic) + linker_errors(dynamic, segments)
        if options.hardened:
            found += compiler_errors(output_of("nm", "-D", "--undefined-only", file))
        if "(SONAME)" not in dynamic:
            found += run_errors(file)
            if options.says.encode() not in path.read_bytes():
                found.append(f"no code for: {options.says}")
        errors += [f"{path.name}: {error}" for error in found]
    return errors, []


def add_options(parser):
    parser.add_argument("--says", metavar="TEXT", default="", help="text that programs hold")
    parser.add_argument("files", type=pathlib.Path, nargs="+", help="programs and libraries")
    parser.add_argument("--hardened", action="store_true", help="compiled with what protects")


if __name__ == "__main__":
    project.main(check, __doc__, add_options)
