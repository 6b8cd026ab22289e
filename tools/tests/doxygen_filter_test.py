# SPDX-License-Identifier: Apache-2.0
"""How headers are shown to Doxygen, and what the reference refuses."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOOLS))

import doxygen_filter  # noqa: E402

HEADER = """// SPDX-License-Identifier: Apache-2.0
// A small library.
#pragma once

namespace net {

// One layer of the network.
struct Layer {
  int width;  // in pixels
  ~Layer();
};

// The sum of two numbers.
inline int sum(int a, int b) {
  // Nobody overflows here.
  return a + b;  // wraps
}

}  // namespace net
"""


class Filter(unittest.TestCase):
    def becomes(self, before, after):
        self.assertEqual(doxygen_filter.filtered(before), after)

    def test_lines_stay_where_they_are(self):
        shown = doxygen_filter.filtered(HEADER).split("\n")
        lines = HEADER.split("\n")
        self.assertEqual(len(shown), len(lines))
        for before, after in zip(lines, shown):
            self.assertTrue(before.startswith("//") or before.split("//")[0].strip() in after)

    def test_comment_at_the_top_is_the_files(self):
        self.assertTrue(doxygen_filter.filtered(HEADER).startswith("/** \\file\nA small library. */\n"))

    def test_comment_before_a_declaration(self):
        self.becomes("// Adds.\nint add(int);", "/** Adds. */\nint add(int);")

    def test_comment_before_a_blank_line_stays(self):
        self.becomes("// Adds.\n\nint add(int);", "// Adds.\n\nint add(int);")

    def test_comment_behind_a_declaration(self):
        self.becomes("int size;  // in bytes", "int size;  /**< in bytes */")

    def test_comment_behind_several_declarations_is_of_each(self):
        self.becomes(
            "T<int, 2> a{1, 2}, b;  // in bytes",
            "/** in bytes */ T<int, 2> a{1, 2}; /** in bytes */ T<int, 2> b;",
        )

    def test_comment_behind_the_opening_of_a_type(self):
        self.becomes("struct Size {  // in bytes", "/** in bytes */ struct Size {")

    def test_comments_in_bodies_stay(self):
        body = doxygen_filter.filtered(HEADER).split("inline int sum")[1]
        self.assertIn("// Nobody overflows here.", body)
        self.assertIn("// wraps", body)

    def test_members_after_an_initializer_in_braces_are_documented(self):
        text = "struct A {\n  int a = int{1} + 1;\n  int b;  // in bytes\n};"
        self.assertIn("int b;  /**< in bytes */", doxygen_filter.filtered(text))

    def test_signs_that_doxygen_would_read_are_escaped_outside_of_code(self):
        self.becomes("// a < b, `a < b`\nint f();", "/** a \\< b, `a < b` */\nint f();")

    def test_indented_text_keeps_its_layout(self):
        self.becomes(
            "// Modes:\n//   ieee   exact <\n// No more.\nint mode;",
            "/** Modes: \\verbatim\n  ieee   exact < \\endverbatim\nNo more. */\nint mode;",
        )

    def test_what_names_itself_needs_no_comment(self):
        shown = doxygen_filter.filtered("struct A {\n  A() = default;\n  ~A();\n  void f();\n};")
        self.assertIn("A() = default;  /**<", shown)
        self.assertIn("~A();  /**<", shown)
        self.assertIn("void f();\n", shown)


@unittest.skipUnless(shutil.which("doxygen"), "doxygen is not installed")
class Reference(unittest.TestCase):
    def result_of(self, header):
        """(exit code, output) of the reference of one header."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "include").mkdir()
            (root / "include/net.h").write_text(header)
            text = (TOOLS.parent / "cmake/Doxyfile.in").read_text()
            for name, value in {
                "@PROJECT_BINARY_DIR@": folder,
                "@PROJECT_SOURCE_DIR@": str(TOOLS.parent),
                "@PROJECT_VERSION@": "1",
                "@Python3_EXECUTABLE@": sys.executable,
            }.items():
                text = text.replace(name, value)
            text += "\nINPUT = include\nUSE_MDFILE_AS_MAINPAGE =\n"
            (root / "Doxyfile").write_text(text)
            command = ["doxygen", "Doxyfile"]
            result = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
            return result.returncode, result.stdout + result.stderr

    def test_documented_header(self):
        code, output = self.result_of(HEADER)
        self.assertEqual(code, 0, output)

    def test_function_without_a_comment(self):
        code, output = self.result_of(HEADER.replace("// The sum of two numbers.\n", ""))
        self.assertNotEqual(code, 0)
        self.assertIn("net.h:13: error: Member sum(int a, int b)", output)

    def test_member_without_a_comment(self):
        code, output = self.result_of(HEADER.replace("  // in pixels", ""))
        self.assertNotEqual(code, 0)
        self.assertIn("net.h:9: error: Member width", output)


if __name__ == "__main__":
    unittest.main()
