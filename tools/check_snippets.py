# SPDX-License-Identifier: Apache-2.0
"""Runs the code of README.md, CONTRIBUTING.md, docs/*.md and bench/README.md. Each block of cpp and
sh has a comment in the line before it:

  <!-- run -->              compile (cpp) or execute (sh) it; it must succeed
  <!-- run small -->        execute it (sh), with a small data set and one epoch (small_program.py)
  <!-- compile -->          compile it only (cpp)
  <!-- not run: REASON -->  the flags of its commands must exist (known_flags.py); it is listed
  <!-- output -->           what the block run before it prints, `...` standing for anything

A sh block runs with the built program in PATH, in a folder that the blocks of one file share. In it
are the project's bench, examples and include, `path/to/fashion_mnist`, a small data set, and
`runs/lenet`, a small training, where a block of the file runs small. A file name in the comment,
`<!-- run train.cpp -->`, also leaves the block there under that name."""

import collections
import os
import pathlib
import re
import subprocess
import tempfile

import known_flags
import project
import small_program

BLOCK = re.compile(
    r"^<!-- (?:(?P<action>run small|run|compile|output)(?: (?P<name>[\w.-]+))?"
    r"|not run: (?P<reason>[^\n]+?)) -->\n\s*"
    r"^```(?P<language>\w*)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
MARK = re.compile(r"^<!-- (run|compile|output|not run)\b", re.MULTILINE)
FENCE = re.compile(r"^```(cpp|sh)\n", re.MULTILINE)
FILES = ("README.md", "CONTRIBUTING.md", "docs/**/*.md", "bench/README.md")
LINKED = ("bench", "examples", "include")
FIRST_RUN = "narrowgauge train --quiet --model lenet --output runs/lenet"
LIMIT_S = 600

Block = collections.namedtuple("Block", "action name reason language code line")


def blocks(text):
    return [
        Block(**match.groupdict(), line=text.count("\n", 0, match.start()) + 1)
        for match in BLOCK.finditer(text)
    ]


def output_pattern(expected):
    parts = (re.escape(part) for part in expected.strip().split("..."))
    return re.compile(".*?".join(parts) + r"\s*", re.DOTALL)


class Runner:
    """Runs the blocks of one file in one folder; `output` is what the last one printed."""

    def __init__(self, root, options, folder):
        build, compiler = options.build.resolve(), options.compiler
        self.root = root
        self.build = build
        self.folder = folder
        self.small = None
        self.compile_command = [
            *(compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror"),
            *(f"-I{root}/include", f"-I{build}/include"),
        ]
        self.link_flags = [f"-L{build}", "-lnarrowgauge", f"-Wl,-rpath,{build}"]
        cache = str(folder / "kernels.json")
        self.environment = dict(os.environ, NARROWGAUGE_KERNEL_CACHE=cache)
        self.environment["PATH"] = f"{build}{os.pathsep}{os.environ['PATH']}"
        self.output = ""
        for name in LINKED:
            if (root / name).exists():
                (folder / name).symlink_to(root / name)

    def run_small(self, code):
        """With the program's stand-in before the program; the first call makes what it needs."""
        if not self.small:
            stand_in = self.folder / "small"
            small_program.install(stand_in, self.build / "narrowgauge")
            (self.folder / "path/to").mkdir(parents=True)
            (self.folder / "path/to/fashion_mnist").symlink_to(stand_in / "data")
            path = f"{stand_in}{os.pathsep}{self.environment['PATH']}"
            self.small = dict(self.environment, PATH=path)
            why = self.execute(["sh", "-e"], FIRST_RUN, self.small)
            if why:
                return f"`{FIRST_RUN}`: {why}"
        return self.execute(["sh", "-e"], code, self.small)

    def execute(self, command, code=None, environment=None):
        """None, or why the command failed."""
        try:
            result = subprocess.run(
                command,
                cwd=self.folder,
                env=environment or self.environment,
                input=code,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"still running after {LIMIT_S} s"
        self.output = result.stdout
        if result.returncode:
            return f"exit code {result.returncode}:\n{result.stdout.strip()}"
        return None

    def run(self, block):
        if block.action == "output":
            if output_pattern(block.code).fullmatch(self.output.strip()):
                return None
            return f"the block before it printed something else:\n{self.output.strip()}"
        if block.reason:
            if block.language != "sh":
                return None
            unknown = known_flags.unknown_words(block.code, self.root, self.environment)
            return ", ".join(unknown) or None
        if block.name:
            (self.folder / block.name).write_text(block.code)
        if block.language == "sh":
            if block.action == "run small":
                return self.run_small(block.code)
            return self.execute(["sh", "-e"], block.code)
        if block.language != "cpp":
            return f"`{block.language}` is neither cpp nor sh"
        return self.run_cpp(block)

    def run_cpp(self, block):
        source = self.folder / (block.name or f"line_{block.line}.cpp")
        source.write_text(block.code)
        if block.action == "compile":
            return self.execute([*self.compile_command, "-c", "-o", os.devnull, str(source)])
        program = source.with_suffix("")
        link = [*self.compile_command, "-o", str(program), str(source), *self.link_flags]
        return self.execute(link) or self.execute([str(program)])


def check_file(path, text, options, root):
    found = blocks(text)
    errors = []
    if len(found) != len(MARK.findall(text)):
        errors.append(f"{path}: a mark is not followed by a fenced block")
    marked = sum(block.language in {"cpp", "sh"} for block in found)
    if marked != len(FENCE.findall(text)):
        errors.append(f"{path}: a block of cpp or sh has no mark that says how it is run")
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(root, options, pathlib.Path(folder))
        for block in found:
            if block.reason:
                print(f"{path}:{block.line}: not run: {block.reason}")
            why = runner.run(block)
            if why:
                errors.append(f"{path}:{block.line}: {block.action or 'not run'}: {why}")
    return errors


def check(root, options):
    root = root.resolve()
    errors = []
    for pattern in FILES:
        for path in sorted(root.glob(pattern)):
            name = path.relative_to(root).as_posix()
            errors += check_file(name, project.read(path), options, root)
    return errors, []


def add_options(parser):
    parser.add_argument("--build", type=pathlib.Path, required=True, help="folder of the build")
    parser.add_argument("--compiler", default="c++")


if __name__ == "__main__":
    project.main(check, __doc__, add_options)
