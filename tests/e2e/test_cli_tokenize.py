"""kazeia tokenize: texts to ids and back, for programs and for checkpoints of any architecture.

In: tiny models made here, GPT-2's public vocabulary in tests/golden.
"""
import json
import shutil
import unittest

import program
import tiny_model

GPT2 = program.ROOT / "tests/golden/tokenizer/gpt-2"


class Tokenize(program.Program):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        tiny_model.write(cls.folder / "tiny.gguf")
        cls.run_program("export", cls.folder / "tiny.gguf", "-o", cls.folder / "made.kzp")
        cls.gpt2 = cls.folder / "gpt2"
        cls.gpt2.mkdir()
        for name in ("vocab.json", "merges.txt"):
            shutil.copy(GPT2 / name, cls.gpt2 / name)
        (cls.gpt2 / "tokenizer_config.json").write_text('{"tokenizer_class": "GPT2Tokenizer"}')

    def convert(self, model, lines, *options):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        output = self.assert_works("tokenize", "--model", model, *options,
                                   standard_input=text.encode())
        return [json.loads(line) for line in output.splitlines()]

    def test_a_checkpoint_gives_what_its_program_gives(self):
        texts = ["bonjour to", "", "<|im_start|>x", "é\n 1", "a\0b"]
        for options in ((), ("--special",)):
            expected = self.convert(self.folder / "made.kzp", texts, *options)
            self.assertEqual(self.convert(self.folder / "tiny.gguf", texts, *options), expected)
            # By name: the ending may be left out.
            self.assertEqual(self.convert("tiny", texts, *options), expected)
            self.assertEqual(self.convert("made", texts, *options), expected)
        ids = self.convert("tiny", texts)
        self.assertEqual(self.convert("tiny", ids, "--decode"), texts)

    def test_special_tokens_are_text_unless_asked_for(self):
        plain, = self.convert("tiny", ["<|im_end|>"])
        special, = self.convert("tiny", ["<|im_end|>"], "--special")
        self.assertEqual(len(special), 1)
        self.assertGreater(len(plain), 1)
        self.assertNotIn(special[0], plain)

    def test_a_folder_without_weights(self):
        rows = [json.loads(line) for line in (GPT2 / "public.jsonl").read_text().splitlines()]
        texts = [row["text"] for row in rows]
        self.assertEqual(self.convert(self.gpt2, texts), [row["ids"] for row in rows])
        self.assertEqual(self.convert("gpt2", texts), [row["ids"] for row in rows])

    def test_the_architecture_does_not_matter(self):
        content = (self.folder / "tiny.gguf").read_bytes()
        name = b"\x05\x00\x00\x00\x00\x00\x00\x00llama"
        key = content.index(b"general.architecture")
        place = content.index(name, key)
        # One of the same length: nothing behind it moves.
        (self.folder / "other.gguf").write_bytes(
            content[:place] + name.replace(b"llama", b"nosuc") + content[place + len(name):])
        self.assertEqual(self.convert("other", ["bonjour"]), self.convert("tiny", ["bonjour"]))
        self.assert_fails(2, "nosuc", "export", self.folder / "other.gguf", "-o",
                          self.folder / "other.kzp")

    def test_models_that_are_none(self):
        self.assert_fails(1, "neither a program nor a checkpoint", "tokenize", "--model", "nowhere")
        (self.folder / "empty").mkdir()
        self.assert_fails(1, "is a checkpoint", "tokenize", "--model", self.folder / "empty")
        (self.gpt2 / "note.txt").write_text("hello")
        self.assert_fails(2, "something else", "tokenize", "--model", self.gpt2 / "note.txt")

    def test_lines_that_are_none(self):
        for line in (b"bonjour\n", b"[1]\n", b'"a\n'):
            self.assert_fails(1, "line 1", "tokenize", "--model", "tiny", standard_input=line)
        self.assert_fails(1, "line 2", "tokenize", "--model", "tiny", "--decode",
                          standard_input=b"[1]\n[-1]\n")

    def test_conversations_that_are_none(self):
        for line, words in ((b"bonjour\n", "expected {"), (b"[1]\n", "no messages"),
                            (b'{"messages": 3}\n', "messages that are no array"),
                            (b'{"messages": [], "options": 3}\n', "options that are no object")):
            self.assert_fails(1, words, "template", "--model", "chatml", standard_input=line)


if __name__ == "__main__":
    unittest.main()
