#!/usr/bin/env python3
"""What the program says about itself and to a wrong command line: no model is needed.

In: the program kazeia. Out: unittest's report.
"""
import os
import re
import subprocess
import unittest

import program

COMMANDS = ["export", "inspect", "transcribe", "generate", "chat", "tokenize", "template", "say",
            "spoken", "sentences", "codec", "voice", "turn", "commands", "vad", "timers", "bench",
            "eval"]


class Usage(program.Program):
    def test_version(self):
        self.assertRegex(self.assert_works("--version"), r"^kazeia \d+\.\d+\.\d+\n$")

    def test_help_names_every_command(self):
        text = self.assert_works("help")
        self.assertEqual(re.findall(r"^  (\w+) ", text, re.M), COMMANDS)
        self.assertEqual(text, self.assert_works("--help"))
        self.assertEqual(text, self.assert_works("help", "help"))

    def test_every_command_has_help(self):
        for command in COMMANDS:
            with self.subTest(command):
                text = self.assert_works(command, "--help")
                self.assertIn(f"usage: kazeia {command} ", text)
                self.assertIn("--json", text)
                self.assertEqual(text, self.assert_works("help", command))

    def test_every_command_takes_threads(self):
        for command in COMMANDS:
            with self.subTest(command):
                self.assert_works(command, "--threads", "2", "--help")
                self.assert_fails(1, "--threads is '65'", command, "--threads", "65")

    def test_every_page_is_in_a_help(self):
        texts = "".join(self.assert_works(command, "--help") for command in COMMANDS)
        pages = {page.stem for page in (program.ROOT / "docs/options").glob("*.md")}
        shown = set(re.findall(r"--([a-z][a-z-]*)", texts))
        self.assertEqual(pages - {"README", "version"} - shown, set())

    def test_wrong_words(self):
        self.assertIn("no command is given", self.run_program().stderr)
        self.assertEqual(self.run_program().returncode, 1)
        self.assert_fails(1, "the nearest is 'generate'", "genrate")
        self.assert_fails(1, "the nearest is 'say'", "help", "sya")
        self.assert_fails(1, "unknown command 'foo'. 'kazeia help'", "foo")
        self.assert_fails(1, "unknown option '--bogus'. 'kazeia help'", "--bogus")
        self.assert_fails(1, "the nearest is '--model'", "generate", "--modl", "x")
        self.assert_fails(1, "--model MODEL is missing", "transcribe", "a.wav")
        self.assert_fails(1, "FILE... is missing", "transcribe", "--model", "x")
        self.assert_fails(1, "one argument too many", "say", "-o", "x.wav", "two", "words")
        self.assert_fails(1, "one argument too many", "bench", "--model", "x", "y")

    def test_names_cannot_speak_to_the_terminal(self):
        self.assert_fails(1, "no?such??[31mfile", "inspect", "no\nsuch\x07\x1b[31mfile")

    def test_conflicts(self):
        self.assert_fails(1, "exclude each other", "generate", "--model", "x", "--prompt", "y",
                          "--raw", "--system", "z")
        self.assert_fails(1, "exclude each other", "tokenize", "--model", "x", "--decode", "--special")
        self.assert_fails(1, "exclude each other", "eval", "--model", "x", "--perplexity", "a",
                          "--logits", "b")
        self.assert_fails(1, "exclude each other", "eval", "--model", "x", "--ids", "a", "--context", "64")
        self.assert_fails(1, "exclude each other", "eval", "--model", "x", "--logits", "a", "-o", "b",
                          "--against", "c")
        self.assert_fails(1, "-o OUT.npy", "eval", "--model", "x", "--logits", "b")
        self.assert_fails(1, "--perplexity FILE or --logits", "eval", "--model", "x")

    def test_models_that_are_not_there(self):
        (self.folder / "here.kzp").write_bytes(b"")
        self.assert_fails(1, "(it has: ", "bench", "--model", "nowhere")
        self.assert_fails(1, "here", "bench", "--model", "nowhere")
        self.assert_fails(1, "./scripts/fetch-models nowhere", "bench", "--model", "nowhere")
        self.assert_fails(1, "there is no such file", "bench", "--model", "no/where.kzp")
        self.assert_fails(1, "is a folder", "inspect", self.folder)
        (self.folder / "fetched").mkdir()
        self.assert_fails(1, "kazeia export", "bench", "--model", "fetched")

    def test_files_that_are_no_programs(self):
        for name, content in (("empty", b""), ("short", b"KZ"), ("other", b"GGUF" + bytes(5000)),
                              ("zeros", bytes(100000))):
            with self.subTest(name):
                path = self.folder / f"{name}.kzp"
                path.write_bytes(content)
                self.assert_fails(2, name, "inspect", path)
                self.assert_fails(2, name, "generate", "--model", name, "--prompt", "x")

    def test_paths_that_lead_nowhere(self):
        loop = self.folder / "loop.kzp"
        loop.symlink_to(loop)
        self.assert_fails(1, "symbolic links", "inspect", loop)
        locked = self.folder / "locked"
        locked.mkdir(mode=0)
        if not os.access(locked, os.X_OK):
            self.assert_fails(3, "denied", "inspect", locked / "x.kzp")

    def test_names_that_are_not_utf8(self):
        self.assert_fails(1, "\ufffd", "inspect", os.fsdecode(b"\xff\xfe/x"))

    def test_nobody_reads(self):
        reader, writer = os.pipe()
        os.close(reader)
        result = subprocess.run([program.PROGRAM, "help"], stdout=writer, stderr=subprocess.PIPE,
                                check=False)
        os.close(writer)
        self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_full_disk(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([program.PROGRAM, "help"], stdout=full, stderr=subprocess.PIPE,
                                    check=False)
        self.assertEqual(result.returncode, 3)
        self.assertIn(b"cannot write to standard output", result.stderr)

    def test_closed_output(self):
        result = subprocess.run(["sh", "-c", '"$0" help >&-', program.PROGRAM], stderr=subprocess.PIPE,
                                check=False)
        self.assertEqual(result.returncode, 3)
        self.assertIn(b"cannot write to standard output", result.stderr)


if __name__ == "__main__":
    unittest.main()
