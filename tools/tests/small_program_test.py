# SPDX-License-Identifier: Apache-2.0
"""How commands of the documents are made small, and how flags of the others are looked up."""

import pathlib
import sys
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOOLS))

import known_flags  # noqa: E402
import small_program  # noqa: E402


class SmallProgram(unittest.TestCase):
    def becomes(self, before, after):
        self.assertEqual(" ".join(small_program.made_small(before.split(), "D")), after)

    def test_training_takes_one_epoch_of_the_small_set(self):
        self.becomes("train --data glyphs --epochs 6 --amp f16", "train --data D --epochs 1 --amp f16")
        self.becomes("train --amp f16", "train --amp f16 --epochs 1 --data D")

    def test_simulated_training_does_too(self):
        self.becomes("simulate --model lenet", "simulate --model lenet --epochs 1 --data D")
        self.becomes("simulate --probe", "simulate --probe")

    def test_evaluation_takes_the_small_set(self):
        self.becomes("evaluate runs/lenet", "evaluate runs/lenet --data D")

    def test_benchmark_takes_one_step_of_a_small_network(self):
        small = "--batch 4 --iterations 1 --batches 1"
        self.becomes("bench --model resnet20", f"bench --model lenet {small}")


class KnownFlags(unittest.TestCase):
    def test_commands_of_a_text(self):
        code = "A=1 narrowgauge bench \\\n  --batch 4\n# nothing\n./run bench  # slow\n"
        expected = [["narrowgauge", "bench", "--batch", "4"], ["./run", "bench"]]
        self.assertEqual(list(known_flags.commands(code)), expected)

    def test_unknown_command_of_run(self):
        unknown = known_flags.unknown_words("./run build\n./run nonsense\n", TOOLS.parent, None)
        self.assertEqual(unknown, ["./run has no nonsense"])


if __name__ == "__main__":
    unittest.main()
