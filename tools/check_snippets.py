# SPDX-License-Identifier: Apache-2.0
"""Runs the code of README.md and docs/*.md. A fenced block is taken when a comment stands in the
line before it:

  <!-- run -->      compile (cpp) or execute (sh) it; it must succeed
  <!-- compile -->  compile it only (cpp)
  <!-- output -->   what the block run before it prints, `...` standing for anything

A sh block runs in an empty folder with the built program in PATH; blocks of one file share it. A
file name in the comment, `<!-- run train.cpp -->`, also leaves the block there under that name."""

import collections
import os
import pathlib
import re
import subprocess
import tempfile

import project

BLOCK = re.compile(
    r"^<!-- (?P<action>run|compile|output)(?: (?P<name>[\w.-]+))? -->\n\s*"
    r"^```(?P<language>\w*)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
MARK = re.compile(r"^<!-- (run|compile|output)\b", re.MULTILINE)
LIMIT_S = 600

Block = collections.namedtuple("Block", "action name language code line")


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

    def __init__(self, root, build, compiler, folder):
        self.folder = folder
        self.compile_command = [
            *(compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror"),
            *(f"-I{root}/include", f"-I{build}/include"),
        ]
        self.link_flags = [f"-L{build}", "-lnarrowgauge", f"-Wl,-rpath,{build}"]
        self.environment = dict(os.environ, PATH=f"{build}{os.pathsep}{os.environ['PATH']}")
        self.output = ""

    def execute(self, command, code=None):
        """None, or why the command failed."""
        try:
            result = subprocess.run(
                command,
                cwd=self.folder,
                env=self.environment,
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
        if block.name:
            (self.folder / block.name).write_text(block.code)
        if block.language == "sh":
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
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(root, options.build.resolve(), options.compiler, pathlib.Path(folder))
        for block in found:
            why = runner.run(block)
            if why:
                errors.append(f"{path}:{block.line}: {block.action}: {why}")
    return errors


def check(root, options):
    root = root.resolve()
    errors = []
    for path in [root / "README.md", *sorted(root.glob("docs/**/*.md"))]:
        if path.exists():
            name = path.relative_to(root).as_posix()
            errors += check_file(name, project.read(path), options, root)
    return errors, []


def add_options(parser):
    parser.add_argument("--build", type=pathlib.Path, required=True, help="folder of the build")
    parser.add_argument("--compiler", default="c++")


if __name__ == "__main__":
    project.main(check, __doc__, add_options)
