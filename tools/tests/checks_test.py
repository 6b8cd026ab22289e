# SPDX-License-Identifier: Apache-2.0
"""Each check passes a small sound project and fails the same one with a single thing broken."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent.parent
SPDX = "// SPDX-License-Identifier: Apache-2.0\n"

SOUND = {
    "tools/layers.txt": "base: src/base\ntrain: src/train\nio: src/io\napi: src/api include\n"
    "cli: src/cli\napart: train io\n",
    "CMakeLists.txt": "ng_layer(base)\nng_layer(train)\nng_layer(io)\nng_layer(api)\n",
    "ARCHITECTURE.md": "| `base` | one |\n| `train` | two |\n| `io` | three |\n| `api` | four |\n"
    "| `cli` | five |\n",
    "include/narrowgauge/net.h": SPDX + "int net();\n",
    "src/base/a.h": SPDX + "#include <vector>\n",
    "src/train/b.h": SPDX + '#include "base/a.h"\n',
    "src/io/c.cpp": SPDX + '#include "base/a.h"\n\nint three() { return 3; }\n',
    "src/api/d.cpp": SPDX + '#include "io/c.h"\n#include "narrowgauge/net.h"\n',
    "src/cli/e.cpp": SPDX + '#include "narrowgauge/net.h"\n',
    ".clang-format": "BasedOnStyle: Google\nColumnLimit: 100\n",
    "README.md": "text\n\n<!-- run -->\n```sh\necho one two three\n```\n"
    "<!-- output -->\n```\none ... three\n```\n"
    "<!-- compile -->\n```cpp\nint main() { return 1; }\n```\n",
}


class Checks(unittest.TestCase):
    def run_check(self, name, changes, *options):
        """(exit code, output) of a check over SOUND with some files replaced."""
        with tempfile.TemporaryDirectory() as folder:
            for path, text in {**SOUND, **changes}.items():
                file = pathlib.Path(folder) / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            command = [sys.executable, str(TOOLS / f"check_{name}.py"), "--root", folder, *options]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            return result.returncode, result.stdout + result.stderr

    def passes(self, name, changes, *options):
        code, output = self.run_check(name, changes, *options)
        self.assertEqual(code, 0, output)
        return output

    def fails(self, name, changes, message, *options):
        code, output = self.run_check(name, changes, *options)
        self.assertEqual(code, 1, output)
        self.assertIn(message, output)


class Layers(Checks):
    def test_sound(self):
        self.passes("layers", {})

    def test_include_to_the_right(self):
        self.fails("layers", {"src/base/a.h": '#include "io/c.h"\n'}, "a.h:1: layer base includes")

    def test_include_of_a_layer_at_the_side(self):
        self.fails("layers", {"src/io/c.cpp": '#include "train/b.h"\n'}, "stand side by side")

    def test_lower_layer_includes_public_header_of_a_higher_one(self):
        changes = {"src/base/a.h": '#  include "narrowgauge/net.h"\n'}
        self.fails("layers", changes, "layer base includes narrowgauge/net.h of layer api")

    def test_public_header_includes_private_one(self):
        changes = {"include/narrowgauge/net.h": '#include "base/a.h"\n'}
        self.fails("layers", changes, "is not installed")

    def test_unknown_folder(self):
        message = "src/other/x.h: belongs to no layer"
        self.fails("layers", {"src/other/x.h": "int x;\n"}, message)

    def test_heavy_header_in_a_header(self):
        self.fails("layers", {"src/io/c.h": "#include <fmt/core.h>\n"}, "heavy header")
        self.passes("layers", {"src/io/c.cpp": "#include <fmt/core.h>\n"})

    def test_path_beside_the_file(self):
        self.fails("layers", {"src/base/b.h": '#include "a.h"\n'}, "is not a header of this project")

    def test_table_lacks_a_layer(self):
        table = SOUND["ARCHITECTURE.md"].replace("| `io` | three |\n", "")
        self.fails("layers", {"ARCHITECTURE.md": table}, "src/io is not in its table")

    def test_table_names_a_missing_folder(self):
        changes = {
            "ARCHITECTURE.md": SOUND["ARCHITECTURE.md"] + "| `gone` | six |\n",
            "tools/layers.txt": SOUND["tools/layers.txt"] + "gone: src/gone\n",
        }
        self.fails("layers", changes, "there is no src/gone")

    def test_cmake_in_another_order(self):
        changes = {"CMakeLists.txt": "ng_layer(base)\nng_layer(io)\nng_layer(train)\nng_layer(api)\n"}
        self.fails("layers", changes, "ng_layer lists")


class Rooms(Checks):
    HOUSE = {
        "src/base/rooms.txt": "text\nfiles  # which have names\n.\n",
        "src/base/text/t.h": SPDX,
        "src/base/files/f.h": SPDX + '#include "base/text/t.h"\n',
        "src/base/a.h": SPDX + '#include "base/files/f.h"\n',
    }

    def fails_with(self, changes, message):
        self.fails("rooms", {**self.HOUSE, **changes}, message)

    def test_sound(self):
        self.passes("rooms", {})
        self.passes("rooms", self.HOUSE)

    def test_include_of_a_room_below(self):
        self.fails_with(
            {"src/base/text/t.h": '#include "base/files/f.h"\n'},
            "t.h:1: room text includes base/files/f.h of room files, which stands below it",
        )

    def test_list_is_missing(self):
        self.fails("rooms", {"src/io/zip/z.h": SPDX}, "src/io/rooms.txt is missing")

    def test_room_is_not_listed(self):
        self.fails_with({"src/base/sound/s.h": SPDX}, "room sound is not listed")

    def test_listed_room_is_missing_or_there_twice(self):
        self.fails_with({"src/base/rooms.txt": "text\nfiles\nair\n.\n"}, "there is no room air")
        self.fails_with({"src/base/rooms.txt": "text\nfiles\ntext\n.\n"}, "room text has 2 lines")

    def test_folder_of_many_files(self):
        files = {f"src/io/h{i}.h": SPDX for i in range(40)}
        self.fails("rooms", files, "src/io: 41 files, and 40 are the most")


class Names(Checks):
    LOCAL = SPDX + "namespace {\n\nint half(int a) { return a / 2; }\n\n}  // namespace\n"

    def test_sound(self):
        test = "namespace narrowgauge::c_test {\n\n}  // namespace narrowgauge::c_test\n"
        self.passes("names", {"src/io/d.cpp": self.LOCAL, "tests/io/c_test.cpp": test})

    def test_local_name_of_two_sources(self):
        changes = {"src/io/c.cpp": self.LOCAL, "src/io/d.cpp": self.LOCAL}
        self.fails("names", changes, "d.cpp: the file-local name half is that of c.cpp too")
        self.passes("names", {"src/io/c.cpp": self.LOCAL, "src/api/d.cpp": self.LOCAL})
        self.passes("names", {"src/io/c.cpp": self.LOCAL, "src/io/c.amx.cpp": self.LOCAL})

    def test_local_types_and_constants(self):
        for name, text in (
            ("Half", "struct Half {};"),
            ("Half", "enum class Half { a };"),
            ("half", "constexpr int half = 2;"),
            ("half", "const int half[] = {1, 2};"),
        ):
            local = self.LOCAL.replace("int half(int a) { return a / 2; }", text)
            changes = {"src/io/c.cpp": local, "src/io/d.cpp": local}
            self.fails("names", changes, f"d.cpp: the file-local name {name} is")

    def test_aliases_of_one_name_must_be_the_same(self):
        def source(meaning):
            return SPDX + "namespace {\nusing Taps = " + meaning + ";\n}\n"

        self.passes("names", {"src/io/x.cpp": source("int"), "src/io/y.cpp": source("int")})
        self.fails(
            "names",
            {"src/io/x.cpp": source("int"), "src/io/y.cpp": source("long")},
            "the file-local name Taps is that of x.cpp too",
        )
        struct = SPDX + "namespace {\nstruct Taps {};\n}\n"
        self.fails("names", {"src/io/x.cpp": struct, "src/io/y.cpp": source("int")}, "Taps")

    def test_test_in_the_namespace_of_all(self):
        test = "namespace narrowgauge {\n\n}  // namespace narrowgauge\n"
        self.fails("names", {"tests/io/c_test.cpp": test}, "expected the namespace narrowgauge::...::c_test")


class Lengths(Checks):
    LONG_FUNCTION = SPDX + "int f(int a) {\n" + "  a = a + 1;\n" * 60 + "  return a;\n}\n"

    def test_sound(self):
        self.passes("lengths", {})

    def test_long_file(self):
        changes = {"src/base/long.cpp": SPDX + "int a;\n" * 500}
        self.fails("lengths", changes, "long.cpp: 501 lines, at most 500")

    def test_long_function(self):
        self.fails("lengths", {"src/base/f.cpp": self.LONG_FUNCTION}, "f.cpp:2: f: 63 lines")

    def test_long_python_function(self):
        changes = {"tools/f.py": "def f(a):\n" + "    a += 1\n" * 60}
        self.fails("lengths", changes, "f.py:1: f: 61 lines")

    def test_long_constructor_behind_its_initializers(self):
        text = "X::X(int a) : a_{a}, b_(a) {\n" + "  ++a_;\n" * 60 + "}\n"
        self.fails("lengths", {"src/base/f.cpp": text}, "f.cpp:1: X::X: 62 lines")

    def test_exception_with_a_reason(self):
        exception = "src/base/f.cpp:f 70 the switch has one line an opcode\n"
        changes = {"src/base/f.cpp": self.LONG_FUNCTION, "tools/length_exceptions.txt": exception}
        self.passes("lengths", changes)

    def test_exception_without_a_reason(self):
        changes = {"src/base/f.cpp": self.LONG_FUNCTION}
        changes["tools/length_exceptions.txt"] = "src/base/f.cpp:f 70\n"
        self.fails("lengths", changes, "is not `path lines reason`")

    def test_exception_that_is_not_needed(self):
        changes = {"tools/length_exceptions.txt": "src/base/a.h 600 for no reason\n"}
        self.fails("lengths", changes, "needs no exception")

    def test_many_parameters_are_a_warning(self):
        text = "int f(int a, int b, map<int, int> c, int d, int e, int g) { return a; }\n"
        output = self.passes("lengths", {"src/base/f.cpp": text})
        self.assertIn("f.cpp:1: f: 6 parameters", output)


class Text(Checks):
    def test_sound(self):
        self.passes("text", {})

    def test_no_licence_line(self):
        self.fails("text", {"src/base/a.h": "int a;\n"}, "SPDX")

    def test_note_to_self(self):
        self.fails("text", {"src/base/a.h": SPDX + "// TO" + "DO later\n"}, "write an issue")

    def test_path_of_a_machine(self):
        self.fails("text", {"README.md": "see /ho" + "me/ann/x\n"}, "holds on one machine only")

    def test_blanks_and_line_ends(self):
        self.fails("text", {"src/base/a.h": SPDX + "int a; \n"}, "spaces at the end")
        self.fails("text", {"src/base/a.h": SPDX + "\tint a;\n"}, "a tab")
        self.fails("text", {"src/base/a.h": SPDX + "int a;"}, "no line end")

    def test_comment_without_its_subject(self):
        comment = "// Of two lists.\nint a;\n"
        message = ":2: a comment begins with its subject"
        self.fails("text", {"src/base/a.h": SPDX + comment}, message)
        self.fails("text", {"src/base/a.h": SPDX + "int b;  // of a\n" + comment}, ":3: a comment")
        self.fails("text", {"src/base/a.h": SPDX + "// A sum.\n//\n" + comment}, ":4: a comment")
        self.fails("text", {"tools/a.py": SPDX.replace("//", "#") + "# Of it\n"}, message)
        self.passes("text", {"src/base/a.h": SPDX + "// Offers\n\n// sums\n// Of two lists.\n"})
        self.passes("text", {"docs/a.md": "# Of prints\n"})


class Format(Checks):
    def test_unformatted_file(self):
        code, output = self.run_check("format", {})
        if code == 77:
            self.skipTest(output)
        self.assertEqual(code, 0, output)
        self.fails("format", {"src/base/a.h": "int   a ;\n"}, "src/base/a.h: not formatted")


class Snippets(Checks):
    BUILD = ("--build", str(TOOLS))

    def test_sound(self):
        self.passes("snippets", {}, *self.BUILD)

    def test_code_that_does_not_compile(self):
        readme = "<!-- compile -->\n```cpp\nint main( { }\n```\n"
        self.fails("snippets", {"README.md": readme}, "README.md:1: compile", *self.BUILD)

    def test_command_that_fails(self):
        readme = "<!-- run -->\n```sh\nfalse\necho no\n```\n"
        self.fails("snippets", {"docs/a.md": readme}, "docs/a.md:1: run: exit code 1", *self.BUILD)

    def test_other_output(self):
        readme = SOUND["README.md"].replace("one ... three", "one ... four")
        self.fails("snippets", {"README.md": readme}, "printed something else", *self.BUILD)

    def test_block_without_a_mark(self):
        message = "docs/a.md: a block of cpp or sh has no mark"
        self.fails("snippets", {"docs/a.md": "```sh\ntrue\n```\n"}, message, *self.BUILD)

    def test_command_that_is_not_run_is_listed_and_has_flags_that_exist(self):
        script = "import argparse\nparser = argparse.ArgumentParser()\n"
        script += "parser.add_argument('--size')\nparser.parse_args()\n"
        readme = "<!-- not run: takes a day -->\n```sh\npython3 bench/a.py --size 3\n```\n"
        changes = {"bench/a.py": script, "docs/a.md": readme}
        output = self.passes("snippets", changes, *self.BUILD)
        self.assertIn("docs/a.md:1: not run: takes a day", output)
        changes["docs/a.md"] = readme.replace("--size", "--sizes")
        message = "docs/a.md:1: not run: `python3 bench/a.py --help` has no --sizes"
        self.fails("snippets", changes, message, *self.BUILD)

    def test_mark_without_a_block(self):
        readme = "<!-- run -->\n\n\ntext\n```sh\nfalse\n```\n"
        self.fails("snippets", {"README.md": readme}, "not followed by", *self.BUILD)


class Instructions(Checks):
    def object_of(self, folder, text):
        source = pathlib.Path(folder) / "kernel.avx512.cpp"
        source.write_text(text)
        command = ["c++", "-std=c++20", "-c", "-o", f"{source}.o", str(source)]
        subprocess.run(command, check=True)

    def test_function_that_may_be_merged(self):
        own = "namespace narrowgauge::avx512 { inline int f() { return 1; } int g() { return f(); } }\n"
        shared = own.replace("narrowgauge::avx512", "narrowgauge")
        with tempfile.TemporaryDirectory() as folder:
            self.object_of(folder, own)
            self.passes("instructions", {}, folder)
            self.object_of(folder, shared)
            self.fails("instructions", {}, "narrowgauge::f() may be taken", folder)


class Binaries(Checks):
    SAFE = ["-O2", "-fstack-protector-strong", "-D_FORTIFY_SOURCE=2", "-fPIE", "-pie"]
    SAFE += ["-Wl,-z,relro,-z,now", "-Wl,-rpath,$ORIGIN/lib"]

    def result_of(self, expected, *flags, says=""):
        """Of the check of a program that is linked with flags in which a later one wins."""
        with tempfile.TemporaryDirectory() as folder:
            source, program = pathlib.Path(folder) / "main.cpp", f"{folder}/main"
            source.write_text(
                "#include <cstdio>\n#include <cstring>\nint main(int, char** words) {\n"
                "  char text[99];\n  std::strcpy(text, words[1] ? words[1] : \"\");\n"
                "  return std::puts(text) < 0;\n}\n"
            )
            command = ["c++", "-o", program, str(source), *self.SAFE, *flags]
            subprocess.run(command, check=True)
            if expected is None:
                self.passes("binaries", {}, "--hardened", "--says", says, program)
            else:
                self.fails("binaries", {}, expected, "--hardened", "--says", says, program)

    def test_safe(self):
        self.result_of(None)

    def test_empty_element_of_the_search_path(self):
        self.result_of("RUNPATH [$ORIGIN/lib::] depends", "-Wl,-rpath,:")

    def test_relative_element_of_the_search_path(self):
        self.result_of("RUNPATH [$ORIGIN/lib:lib] depends", "-Wl,-rpath,lib")

    def test_library_of_the_current_folder(self):
        self.result_of("main: in a folder of others:", "-Wl,-rpath,.")

    def test_code_that_nothing_calls(self):
        self.result_of("no code for: this CPU has no", says="this CPU has no ")
        self.result_of(None, says="GCC: ")

    def test_what_the_linker_was_not_told(self):
        self.result_of("no RELRO", "-Wl,-z,norelro")
        self.result_of("no BIND_NOW", "-Wl,-z,lazy")
        self.result_of("no PIE", "-no-pie")
        self.result_of("the stack can be executed", "-Wl,-z,execstack")

    def test_what_the_compiler_was_not_told(self):
        self.result_of("no stack protector", "-fno-stack-protector")
        self.result_of("no _FORTIFY_SOURCE", "-U_FORTIFY_SOURCE")


class Commits(unittest.TestCase):
    def check_after(self, *subjects_of_commits):
        """(exit code, output) of the check in a project with these commits."""
        with tempfile.TemporaryDirectory() as folder:
            git = ["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b"]
            if subjects_of_commits:
                subprocess.run([*git, "init", "-q"], check=True)
            for subject in subjects_of_commits:
                command = [*git, "commit", "-q", "--allow-empty", "-m", subject]
                subprocess.run(command, check=True)
            command = [sys.executable, str(TOOLS / "check_commits.py"), "--root", folder]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            return result.returncode, result.stdout + result.stderr

    def test_sound(self):
        self.assertEqual(self.check_after("Say what is wrong", "B" * 72)[0], 0)

    def test_subjects_that_are_long_or_written_otherwise(self):
        for subject, message in [
            ("B" * 73, "a subject of 73 signs"),
            ("say it", "begins with a small letter"),
            ("Say it.", "ends with a full stop"),
        ]:
            code, output = self.check_after("Begin", subject)
            self.assertEqual(code, 1, output)
            self.assertIn(message, output)

    def test_without_history(self):
        self.assertEqual(self.check_after()[0], 77)


class Packages(unittest.TestCase):
    def test_all_that_pip_installs_is_pinned_by_hash(self):
        for name in ("bench/requirements.txt", "tools/onednn.txt"):
            text = (TOOLS.parent / name).read_text().replace("\\\n", " ")
            lines = [line for line in text.splitlines() if line and not line.startswith("#")]
            for line in lines:
                self.assertRegex(line, r"^[\w.-]+==\S+( *;[^-]*)?( +--hash=sha256:[0-9a-f]{64})+$")
            self.assertGreater(len(lines), 1)

    def test_pip_is_told_to_check_hashes(self):
        for name in ("run", "tools/fetch_onednn.sh"):
            text = (TOOLS.parent / name).read_text().replace("\\\n", " ")
            for line in text.splitlines():
                if " pip download " in line or "/pip install" in line:
                    self.assertIn("--require-hashes", line)


if __name__ == "__main__":
    unittest.main()
