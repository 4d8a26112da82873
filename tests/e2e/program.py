"""How the tests run the program kazeia.

In: its path as the test's first argument. Out: Program, a base for test cases, with a folder of its own
that is removed at the end.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Program(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def environment(cls):
        return {**os.environ, "KAZEIA_MODELS": str(cls.folder)}

    @classmethod
    def run_program(cls, *arguments, standard_input=b"", timeout=120):
        """One run, to its end: exit code and what it wrote, as text."""
        result = subprocess.run([PROGRAM, *map(os.fsencode, map(str, arguments))],
                                input=standard_input, capture_output=True, timeout=timeout,
                                check=False, env=cls.environment())
        # Names that are not UTF-8 come back as they were given when people read them.
        result.stdout, result.stderr = (
            stream.decode(errors="replace") for stream in (result.stdout, result.stderr))
        return result

    def assert_works(self, *arguments, **options):
        result = self.run_program(*arguments, **options)
        self.assertEqual((result.returncode, result.stderr), (0, ""), arguments)
        return result.stdout

    def lines_of(self, *arguments, **options):
        """The JSON lines of a run that works."""
        output = self.assert_works(*arguments, "--json", **options)
        return [json.loads(line) for line in output.splitlines()]

    def assert_fails(self, code, words, *arguments, **options):
        """Ends with the code and a sentence that holds the words, in both modes."""
        result = self.run_program(*arguments, **options)
        self.assertEqual(result.returncode, code, (arguments, result.stderr))
        self.assertIn(words, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        if "--" not in arguments:
            result = self.run_program(*arguments, "--json", **options)
            self.assertEqual((result.returncode, result.stderr), (code, ""), arguments)
            self.assertIn(words, json.loads(result.stdout.splitlines()[-1])["error"])
