"""A program file that one machine exported runs on another of another kind, with the same logits.

In: the exporting kazeia, then the command that runs the other one (an emulator and its arguments, if
need be, and the program at its end), in a cross build (cmake/aarch64.cmake). Out: unittest's report.
The plain kernels give the same bits everywhere, and those of ARM the bits of AVX2.
"""
import json
import os
import pathlib
import subprocess
import sys
import unittest

TARGET = sys.argv[2:]
del sys.argv[2:]

from program import PROGRAM, Program  # takes the first argument

HOST = [PROGRAM]
GOLDEN = pathlib.Path("tests/golden/llama/gguf")
LEVELS = ["neon", "dotprod", "i8mm"]

# Model, --weights, least share of equal likeliest tokens, largest mean divergence from the golden logits:
# the bounds of tests/parity.
CASES = [
    ("llama-tiny-F32", "f32", 1.0, 1e-4),
    ("llama-tiny-F16", "keep", 1.0, 1e-4),
    ("llama-tiny-Q8_0", "keep", 0.925, 7e-3),
    ("llama-tiny-Q4_0", "keep", 0.925, 7e-3),
    ("llama-tiny-Q4_1", "keep", 0.925, 7e-3),
]


def run(machine, *arguments, level=""):
    return subprocess.run([*machine, *map(str, arguments), "--json"], capture_output=True, check=False,
                          text=True, timeout=300, env={**os.environ, "KAZEIA_CPU": level})


class SameProgram(Program):
    def last_line(self, machine, *arguments, level=""):
        result = run(machine, *arguments, level=level)
        self.assertEqual((result.returncode, result.stderr), (0, ""), (arguments, level, result.stdout))
        return json.loads(result.stdout.splitlines()[-1])

    def logits(self, machine, program, level):
        path = self.folder / "logits.npy"
        path.unlink(missing_ok=True)
        self.last_line(machine, "eval", "--model", program, "--logits", GOLDEN / "ids.json", "-o", path,
                       level=level)
        return path.read_bytes()

    def levels_of(self, machine, program):
        """A level that no machine has is answered with a list of those that are there."""
        result = run(machine, "eval", "--model", program, "--ids", GOLDEN / "ids.json", level="abacus")
        words = json.loads(result.stdout.splitlines()[-1])["error"]
        return words.rsplit("this machine has: ", 1)[1].split(", ")

    def exported(self, name, weights):
        program = self.folder / f"{name}.kzp"
        self.last_line(HOST, "export", GOLDEN / f"{name}.gguf", "-o", program, "--weights", weights)
        return program

    def test_levels(self):
        found = self.levels_of(TARGET, self.exported(*CASES[0][:2]))
        self.assertIn("neon", found)
        if os.environ.get("QEMU_CPU") == "max":
            self.assertEqual(found, ["ref", *LEVELS])

    def test_logits(self):
        for name, weights, top1, divergence in CASES:
            program = self.exported(name, weights)
            here = self.levels_of(HOST, program)
            plain = self.logits(HOST, program, "ref")
            fused = self.logits(HOST, program, "avx2") if "avx2" in here else None
            for level in self.levels_of(TARGET, program):
                with self.subTest(model=name, level=level):
                    there = self.logits(TARGET, program, level)
                    expected = plain if level == "ref" else fused
                    self.assertTrue(expected is None or there == expected)
            with self.subTest(model=name):
                report = self.last_line(TARGET, "eval", "--model", program, "--ids", GOLDEN / "ids.json",
                                        "--against", GOLDEN / f"{name}.logits_f32_40.npy")
                self.assertGreaterEqual(report["top1"], top1)
                self.assertLessEqual(report["mean_kl"], divergence)


if __name__ == "__main__":
    unittest.main()
