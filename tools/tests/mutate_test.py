# SPDX-License-Identifier: Apache-2.0
"""Where code is changed, and that a build with all changes runs one at a time."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TOOLS / "mutate"), str(TOOLS)]

import sites  # noqa: E402

PATH = pathlib.Path("src/ops/a.cpp")
LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"


def function(*lines):
    return LICENCE + "int f(int a, int b) {\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def changes(*lines):
    return sorted(site.change for site in sites.candidates(PATH, function(*lines)))


class Candidates(unittest.TestCase):
    def test_operators_bounds_and_constants(self):
        self.assertEqual(changes("return a < b;"), ["< -> <="])
        self.assertEqual(changes("return a * 3;"), ["* -> +", "3 -> 4"])
        self.assertEqual(changes("return std::min(a, b);"), ["min -> max"])
        self.assertEqual(changes("a += b;"), ["+= -> -="])
        self.assertEqual(changes("return g(!a);"), ["!x -> x"])
        self.assertEqual(changes("return a && b;"), ["&& -> false"])
        self.assertEqual(changes("if (a) return b;"), ["condition negated"])
        self.assertEqual(changes("return 0.5F;"), ["0.5F -> 2 * 0.5F"])

    def test_what_is_no_operator(self):
        self.assertEqual(changes("const T& x = g<int>(a, *p, &b);"), [])
        self.assertEqual(changes('return g("a < 3", \'+\');  // a < 3'), [])
        self.assertEqual(changes("static_assert(3 < 4);"), [])

    def test_only_in_functions(self):
        self.assertEqual(sites.candidates(PATH, LICENCE + "const int a = 3 + 4;\n"), [])

    def test_choice_depends_on_the_seed_alone_and_does_not_overlap(self):
        found = sites.candidates(PATH, function("if (a < b && a > 2) return a + b * 4;"))
        first = sites.choose(found, 99, 5)
        self.assertEqual(first, sites.choose(list(reversed(found)), 99, 5))
        spans = sorted((site.start, site.end) for site in first)
        self.assertTrue(all(a[1] <= b[0] for a, b in zip(spans, spans[1:])))


class Mutated(unittest.TestCase):
    def outputs(self, body, count):
        """What a program with all changes prints as it is and under each of them."""
        text = LICENCE + "int f(int a, int b) {\n  " + body + "\n}\n"
        found = sites.choose(sites.candidates(PATH, text), count, 1)
        found.sort(key=lambda site: site.start)
        changed = sites.mutated(text, list(enumerate(found, 1)))
        self.assertEqual(changed.count("\n"), text.count("\n"))
        main = "#include <cstdio>\nint main() { std::printf(\"%d\", f(2, 3)); }\n"
        with tempfile.TemporaryDirectory() as folder:
            source, program = pathlib.Path(folder) / "a.cpp", pathlib.Path(folder) / "a"
            source.write_text(changed + main)
            state = str(sites.HEADER.with_suffix(".cpp"))
            command = ["g++", "-std=c++20", "-w", str(source), state, "-o", str(program)]
            subprocess.run(command, check=True)
            runs = [{"NG_MUTATION": str(i)} for i in range(len(found) + 1)]
            return [subprocess.check_output([program], env=run, text=True) for run in runs]

    def test_one_change_at_a_time(self):
        self.assertEqual(self.outputs("return a * b + 4;", 9), ["10", "9", "2", "11"])

    def test_constant_expressions_stay(self):
        self.assertEqual(self.outputs("int x[2 + 1]; return sizeof x / 4;", 1), ["3", "3"])


if __name__ == "__main__":
    unittest.main()
