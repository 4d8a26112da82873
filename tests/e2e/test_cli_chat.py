#!/usr/bin/env python3
"""export, inspect, generate, chat, tokenize, bench and eval on a tiny language model.

In: the program kazeia. Out: unittest's report.
"""
import json
import math
import os
import signal
import struct
import subprocess
import time
import unittest

import program
import tiny_model

REPLY = ["text", "tokens", "thinking", "tool_calls", "stop_reason", "prompt_tokens", "cached_tokens",
         "generated_tokens", "load_ms", "prefill_tokens_per_s", "ttft_ms", "decode_tokens_per_s",
         "drafted_tokens", "accepted_tokens", "room_tokens", "kv_bytes", "peak_rss_bytes"]


def read_npy(path):
    """Shape and values of a .npy file of little-endian float32 in C order."""
    content = path.read_bytes()
    assert content[:8] == b"\x93NUMPY\x01\x00"
    length = struct.unpack("<H", content[8:10])[0]
    assert (10 + length) % 64 == 0
    head = eval(content[10:10 + length].decode("latin-1"), {"__builtins__": {}})
    assert (head["descr"], head["fortran_order"]) == ("<f4", False)
    values = struct.unpack(f"<{(len(content) - 10 - length) // 4}f", content[10 + length:])
    return head["shape"], values


class Chat(program.Program):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.checkpoint = cls.folder / "tiny.gguf"
        tiny_model.write(cls.checkpoint)
        for name, more in (("tiny", []), ("kv", ["--mode", "kv"]),
                           ("exact", ["--weights", "f32", "--kv", "f32"])):
            result = cls.run_program("export", cls.checkpoint, "-o", cls.folder / f"{name}.kzp", *more)
            if result.returncode != 0:
                raise RuntimeError(result.stderr)

    def generate(self, *more, model="tiny", prompt="bonjour"):
        return self.lines_of("generate", "--model", model, "--prompt", prompt, "--max-tokens", "12",
                             *more)[0]

    def test_export_says_what_it_wrote(self):
        path = self.folder / "sharded.kzp"
        ballast = b"x" * (400 << 20)  # this process's memory is not the program's
        line, = self.lines_of("export", self.checkpoint, "-o", path, "--shards", "3")
        self.assertLess(line["peak_rss_bytes"], len(ballast))
        del ballast
        self.assertEqual(list(line), ["output", "id", "bytes", "seconds", "peak_rss_bytes",
                                      "weights", "bits_per_weight"])
        tensors = self.lines_of("inspect", path)[0]["tensors"]
        self.assertEqual(line["weights"], sum(math.prod(tensor["shape"]) for tensor in tensors))
        self.assertAlmostEqual(line["bits_per_weight"] * line["weights"],
                               8 * sum(tensor["bytes"] for tensor in tensors), delta=1)
        self.assertGreater(line["peak_rss_bytes"], 1 << 20)
        files = [path, *self.folder.glob(f"sharded.{line['id'][:8]}.*-of-3.kzw")]
        self.assertEqual(len(files), 4)
        self.assertEqual(line["bytes"], sum(file.stat().st_size for file in files))
        self.assertEqual(self.lines_of("inspect", path)[0]["id"], line["id"])

    def test_export_refuses(self):
        here = self.folder / "no.kzp"
        (self.folder / "noise").write_bytes(bytes(range(256)) * 10)
        self.assert_fails(2, "noise", "export", self.folder / "noise", "-o", here)
        self.assert_fails(1, "nothing.gguf", "export", self.folder / "nothing.gguf", "-o", here)
        self.assert_fails(1, "--context is '0'", "export", self.checkpoint, "-o", here, "--context", "0")
        (self.folder / "half.gguf").write_bytes(self.checkpoint.read_bytes()[:200000])
        self.assert_fails(2, "half.gguf", "export", self.folder / "half.gguf", "-o", here)
        recipe = self.folder / "recipe"
        recipe.write_text("*norm* = f32\n", encoding="utf-8")
        self.assert_fails(1, "are one file", "export", self.checkpoint, "--recipe", recipe, "-o", recipe)
        self.assertEqual(recipe.read_text(encoding="utf-8"), "*norm* = f32\n")
        self.assertEqual(list(self.folder.glob("no.kzp*")), [])

    def test_inspect(self):
        description, = self.lines_of("inspect", "tiny")
        self.assertEqual(list(description), ["format_version", "id", "metadata", "methods", "states",
                                             "tensors", "memory"])
        names = [method["name"] for method in description["methods"]]
        self.assertEqual(names, ["prefill_forward", "kv_forward", "logits"])
        kv_only, = self.lines_of("inspect", "kv")
        self.assertNotIn("prefill_forward", [method["name"] for method in kv_only["methods"]])
        text = self.assert_works("inspect", "tiny", "--verify")
        for words in ("ability: chat", "kv_forward", "q8_0", "session", "every checksum is right"):
            self.assertIn(words, text)
        layers = len({tensor["name"].split(".")[1] for tensor in description["tensors"]
                      if tensor["name"].startswith("layers.")})
        self.assertRegex(text, rf"(?m)^  layers\n    \*\n(.*\n)*? .* {layers} x ")
        whole = self.assert_works("inspect", "tiny", "--tensors")
        self.assertEqual(len([line for line in whole.splitlines() if " bits  " in line]),
                         len(description["tensors"]))
        memory = description["memory"]
        self.assertEqual(list(memory), ["weights", "arena", "states", "work", "session"])
        self.assertEqual(memory["session"], memory["arena"] + memory["states"] + memory["work"])
        self.assertIs(self.lines_of("inspect", "tiny", "--verify")[0]["verified"], True)

    def test_verify_finds_a_flipped_bit(self):
        content = bytearray((self.folder / "tiny.kzp").read_bytes())
        content[-2000] ^= 4
        (self.folder / "flipped.kzp").write_bytes(content)
        self.assert_fails(2, "flipped", "inspect", "flipped", "--verify")

    def test_generate(self):
        reply = self.generate()
        self.assertEqual(list(reply), REPLY)
        self.assertEqual((len(reply["tokens"]), reply["stop_reason"]), (12, "length"))
        self.assertGreater(reply["prompt_tokens"], 10)
        output = self.assert_works("generate", "--model", "tiny", "--prompt", "bonjour", "--max-tokens",
                                   "12")
        self.assertEqual(output, reply["text"] + "\n")

    def test_same_seed_same_text(self):
        draw = ["--temperature", "2", "--top-k", "50", "--top-p", "0.95", "--min-p", "0.01", "--seed"]
        one = self.generate(*draw, "5", "--threads", "1")
        self.assertEqual(one["tokens"], self.generate(*draw, "5", "--threads", "3")["tokens"])
        self.assertNotEqual(one["tokens"], self.generate(*draw, "6")["tokens"])

    def test_modes_agree(self):
        self.assertEqual(self.generate()["tokens"], self.generate(model="kv")["tokens"])

    def test_raw_prompt_is_the_prompt(self):
        ids, = self.lines_of("tokenize", "--model", "tiny", standard_input=b'"bonjour"\n')
        self.assertEqual(self.generate("--raw")["prompt_tokens"], len(ids))

    def test_system_prompt_counts(self):
        plain, asked = self.generate(), self.generate("--system", "parle en vers")
        self.assertGreater(asked["prompt_tokens"], plain["prompt_tokens"])

    def test_replies_follow_a_schema(self):
        schema = self.folder / "schema.json"
        schema.write_text(json.dumps({
            "type": "object",
            "properties": {"kind": {"enum": ["rain", "sun"]}, "sure": {"type": "boolean"},
                           "days": {"type": "array", "items": {"type": "integer", "minimum": 1,
                                                               "maximum": 7}, "maxItems": 3}},
            "required": ["kind", "sure"]}), encoding="utf-8")
        for seed in "123":
            reply, = self.lines_of("generate", "--model", "tiny", "--prompt", "temps", "--json-schema",
                                   schema, "--temperature", "2", "--seed", seed, "--max-tokens", "90")
            value = json.loads(reply["text"])
            self.assertIn(value["kind"], ("rain", "sun"))
            self.assertIsInstance(value["sure"], bool)
            self.assertTrue(set(value.get("days", [])) <= set(range(1, 8)))
            self.assertEqual(reply["stop_reason"], "stop")
        cut, = self.lines_of("generate", "--model", "tiny", "--prompt", "temps", "--json-schema", schema,
                             "--max-tokens", "3")
        self.assertEqual((cut["text"][0], cut["stop_reason"]), ("{", "length"))

    def test_replies_follow_a_grammar(self):
        grammar = self.folder / "answer.gbnf"
        grammar.write_text('root ::= "oui" | "non"\n', encoding="utf-8")
        reply = self.generate("--grammar", grammar)
        self.assertIn(reply["text"], ("oui", "non"))
        self.assertEqual(reply["stop_reason"], "stop")
        command = ["generate", "--model", "tiny", "--prompt", "x"]
        self.assert_fails(1, "--json-schema", *command, "--grammar", grammar, "--json-schema", grammar)
        self.assert_fails(2, "line 1, column 1", *command, "--json-schema", grammar)
        grammar.write_text("root ::= other\n", encoding="utf-8")
        self.assert_fails(2, "rule 'other'", *command, "--grammar", grammar)

    def test_empty_prompt(self):
        self.assertEqual(len(self.generate(prompt="")["tokens"]), 12)

    def test_a_prompt_that_does_not_fit(self):
        self.assert_fails(1, "context", "generate", "--model", "tiny", "--prompt", "x" * 1000)

    def test_memory_limit(self):
        self.assert_fails(3, "the limit is 10240", "generate", "--model", "tiny", "--prompt", "x",
                          "--memory-limit", "10K")

    def test_ids_are_a_prompt(self):
        ids, = self.lines_of("tokenize", "--model", "tiny", standard_input=b'"bonjour"\n')
        path = self.folder / "prompt.json"
        path.write_text(json.dumps(ids), encoding="utf-8")
        given = ["generate", "--model", "tiny", "--ids", path, "--max-tokens", "9"]
        reply, = self.lines_of(*given, "--ignore-stop")
        self.assertEqual(reply["prompt_tokens"], len(ids))
        self.assertEqual(len(reply["tokens"]), 9)
        self.assertEqual(json.loads(self.assert_works(*given, "--ignore-stop")), reply["tokens"])
        raw = self.generate("--raw", "--ignore-stop")
        self.assertEqual(raw["tokens"][:9], reply["tokens"])
        self.assert_fails(1, "exclude", *given, "--prompt", "x")
        self.assert_fails(1, "--prompt TEXT is missing", "generate", "--model", "tiny")
        path.write_text("[1, 99999999]", encoding="utf-8")
        self.assert_fails(1, "99999999", *given)
        path.write_text("{}", encoding="utf-8")
        self.assert_fails(1, "prompt.json", *given)
        self.assert_fails(1, "more than 256 MB", "generate", "--model", "tiny", "--ids", "/dev/zero")

    def test_sampling_options(self):
        plain = self.generate()
        first = plain["tokens"][0]
        biased = self.generate("--logit-bias", f"{first}=-inf,65=1e9")
        self.assertEqual(biased["tokens"], [65] * 12)
        away = self.generate("--logit-bias", "65=1000,66=950", "--frequency-penalty", "100")
        self.assertEqual(away["tokens"][:4], [65, 66, 65, 66])
        near = self.generate("--logit-bias", "65=1000,66=950", "--frequency-penalty", "100",
                             "--penalty-window", "1", "--repetition-penalty", "1.5")
        self.assertEqual(near["tokens"][:4], [65, 66, 65, 66])
        self.assert_fails(1, "--logit-bias is '1:2'", "generate", "--model", "tiny", "--prompt", "x",
                          "--logit-bias", "1:2")
        self.assert_fails(1, "token", "generate", "--model", "tiny", "--prompt", "x", "--logit-bias",
                          "9999999=1")

    def test_stop_strings(self):
        text = self.generate()["text"]
        place = next(i for i in range(1, len(text) - 1) if text[i:i + 2].isascii())
        stop = text[place:place + 2]
        reply = self.generate("--stop", "no such thing", "--stop", stop)
        self.assertEqual(reply["text"], text[:text.index(stop)])
        self.assertEqual(reply["stop_reason"], "stop string")
        self.assert_fails(1, "--stop is ''", "generate", "--model", "tiny", "--prompt", "x", "--stop", "")

    def test_prompt_lookup_changes_nothing(self):
        for more in ([], ["--temperature", "0.5", "--seed", "4"]):
            plain = self.generate("--raw", *more, prompt="la la la la la la")
            guessed = self.generate("--raw", *more, "--prompt-lookup", "15", prompt="la la la la la la")
            self.assertEqual(guessed["tokens"], plain["tokens"])
            self.assertEqual(plain["drafted_tokens"], 0)
        self.assert_fails(1, "from 0 to 15", "generate", "--model", "tiny", "--prompt", "x",
                          "--prompt-lookup", "16")

    def test_tokenize_there_and_back(self):
        texts = ["", "bonjour à tous", "a\u0000b", "😀\n\t", "<|im_end|>"]
        lines = "".join(json.dumps(text) + "\n" for text in texts).encode()
        ids = self.assert_works("tokenize", "--model", "tiny", standard_input=lines)
        arrays = [json.loads(line) for line in ids.splitlines()]
        self.assertEqual(arrays[0], [])
        back = self.assert_works("tokenize", "--model", "tiny", "--decode", standard_input=ids.encode())
        self.assertEqual([json.loads(line) for line in back.splitlines()], texts)
        special, = self.lines_of("tokenize", "--model", "tiny", "--special",
                                 standard_input=b'"<|im_end|>"')
        self.assertEqual(special, [tiny_model.SPECIAL.index("<|im_end|>")])
        self.assertGreater(len(arrays[-1]), 1)

    def test_tokenize_refuses(self):
        for content in (b"bonjour\n", b"[1]\n", b'"half\n', b'"\\ud800"\n', b"\n", b'"\xff"\n'):
            with self.subTest(content):
                self.assert_fails(1, "line 2 of standard input", "tokenize", "--model", "tiny",
                                  standard_input=b'"one"\n' + content)
        for content in (b'"a"\n', b"[1.5]\n", b"[-1]\n", b"[99999999999]\n", b"[[1]]\n"):
            with self.subTest(content):
                self.assert_fails(1, "line 1 of standard input", "tokenize", "--model", "tiny",
                                  "--decode", standard_input=content)
        self.assertEqual(self.assert_works("tokenize", "--model", "tiny", standard_input=b""), "")

    def test_bench(self):
        line, = self.lines_of("bench", "--model", "tiny", "--prefill", "16", "--decode", "4", "--depth",
                              "8", "--repeat", "2", "--threads", "1")
        self.assertEqual(list(line), ["prefill_tokens_per_s", "decode_tokens_per_s", "threads",
                                      "kernel", "depth", "load_ms", "ttft_ms",
                                      "weight_bytes_per_token", "kv_bytes_per_token",
                                      "decode_gb_per_s", "peak_rss_bytes"])
        self.assertEqual((line["threads"], line["depth"]), (1, 8))
        self.assertAlmostEqual(line["ttft_ms"], 16e3 / line["prefill_tokens_per_s"], places=4)
        described = self.lines_of("inspect", self.folder / "tiny.kzp")[0]
        context = described["metadata"]["model.context"]
        self.assertEqual(line["kv_bytes_per_token"] * context,
                         sum(state["bytes"] for state in described["states"]))
        # All weights but the table that is only looked up in.
        looked_up = {operand for method in described["methods"] for step in method["instructions"]
                     for operand in step["operands"] if step["op"] == "embed"}
        read = {operand for method in described["methods"] for step in method["instructions"]
                for operand in step["operands"] if step["op"] != "embed"}
        self.assertEqual(line["weight_bytes_per_token"],
                         sum(tensor["bytes"] for tensor in described["tensors"]
                             if tensor["name"] not in looked_up or tensor["name"] in read))
        bytes_read = line["weight_bytes_per_token"] + (8 + 4 / 2) * line["kv_bytes_per_token"]
        self.assertAlmostEqual(line["decode_gb_per_s"] * 1e9 / line["decode_tokens_per_s"] / bytes_read,
                               1, places=5)
        self.assertGreater(min(line["prefill_tokens_per_s"], line["decode_tokens_per_s"]), 0)
        self.assert_fails(1, "context", "bench", "--model", "tiny", "--prefill", "4000")

    def test_logits(self):
        ids, out = self.folder / "ids.json", self.folder / "out.npy"
        ids.write_text("[100, 101, 102, 103]", encoding="utf-8")
        line, = self.lines_of("eval", "--model", "exact", "--logits", ids, "-o", out)
        self.assertEqual(line, {"output": str(out), "tokens": 4})
        shape, values = read_npy(out)
        words = len(tiny_model.vocabulary())
        self.assertEqual(shape, (4, words))
        self.assertEqual(len(values), 4 * words)
        self.assertTrue(all(map(math.isfinite, values)))
        self.assertGreater(max(values), min(values))

    # What generate says next is the largest of the logits that eval writes.
    def test_logits_are_those_of_generate(self):
        prompt, out = self.folder / "prompt.json", self.folder / "prompt.npy"
        ids = self.assert_works("tokenize", "--model", "exact", "--special",
                                standard_input=b'"bonjour"')
        prompt.write_text(ids, encoding="utf-8")
        self.assert_works("eval", "--model", "exact", "--logits", prompt, "-o", out)
        (rows, words), values = read_npy(out)
        last = values[(rows - 1) * words:]
        reply = self.generate("--raw", model="exact")
        self.assertEqual(reply["tokens"][0], last.index(max(last)))

    def test_one_token_is_not_scored(self):
        path = self.folder / "one.json"
        path.write_text("[1]", encoding="utf-8")
        self.assertIn("no token scored", self.assert_works("eval", "--model", "tiny", "--ids", path))
        line, = self.lines_of("eval", "--model", "tiny", "--ids", path)
        self.assertEqual(line, {"perplexity": None, "tokens": 0})

    def test_a_file_that_may_not_grow(self):
        path = self.folder / "limited.kzp"
        result = subprocess.run(["sh", "-c", f'ulimit -f 8; exec "$0" export "$1" -o {path}',
                                 program.PROGRAM, str(self.checkpoint)], capture_output=True,
                                text=True, timeout=60, check=False)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("limited.kzp", result.stderr)
        self.assertEqual([name for name in os.listdir(self.folder) if "limited" in name], [])

    def test_logits_refuses(self):
        path, out = self.folder / "wrong.json", self.folder / "wrong.npy"
        for content, words in (("[]", "empty array"), ("[1, -1]", "element 1"), ("[1,", "JSON array"),
                               ("[100000]", "100000"), ("{}", "JSON array")):
            with self.subTest(content):
                path.write_text(content, encoding="utf-8")
                self.assert_fails(1, words, "eval", "--model", "tiny", "--logits", path, "-o", out)
        path.write_text("[1]", encoding="utf-8")
        self.assert_fails(1, "folder that exists", "eval", "--model", "tiny", "--logits", path, "-o",
                          self.folder / "no/where.npy")
        self.assert_fails(1, "no plain file", "eval", "--model", "tiny", "--logits", path, "-o",
                          "/dev/null")
        model = self.folder / "tiny.kzp"
        content = model.read_bytes()
        self.assert_fails(1, "are one file", "eval", "--model", "tiny", "--logits", path, "-o", model)
        self.assertEqual(model.read_bytes(), content)
        self.assertEqual(list(self.folder.glob("wrong.npy*")), [])

    def compare(self, model, *more):
        line, = self.lines_of("eval", "--model", model, *more)
        self.assertEqual(list(line)[-8:], ["tokens", "against_perplexity", "positions", "top1", "mean_kl",
                                           "max_kl", "max_difference", "max_relative_difference"])
        return line

    def write_text(self):
        path = self.folder / "compared.txt"
        path.write_text("bonjour le monde, il fait beau. " * 20, encoding="utf-8")
        return path

    # Beside the model itself everything is equal; another one's numbers are computed here as well.
    def test_comparison(self):
        text, out, other = self.write_text(), self.folder / "one.npy", self.folder / "two.npy"
        measured = ("--perplexity", text, "--context", "64")
        alone = self.lines_of("eval", "--model", "exact", *measured)[0]
        same = self.compare("exact", *measured, "--against", "exact", "-o", out)
        self.assertEqual((same["top1"], same["mean_kl"], same["max_difference"]), (1, 0, 0))
        self.assertAlmostEqual(same["perplexity"] / alone["perplexity"], 1, places=6)
        self.assertEqual(same["perplexity"], same["against_perplexity"])
        self.assertEqual(same["tokens"], alone["tokens"])
        self.assert_works("eval", "--model", "tiny", *measured, "-o", other)
        line = self.compare("exact", *measured, "--against", "tiny")
        self.assertEqual(line, {**self.compare("exact", *measured, "--against", other)})
        self.check_comparison(line, read_npy(out), read_npy(other))

    def check_comparison(self, line, model, reference):
        (rows, words), values = model
        self.assertEqual((line["positions"], reference[0]), (rows, (rows, words)))
        equal, divergence, largest, relative = 0, [], 0, 0
        for row in range(rows):
            one, two = (numbers[row * words:(row + 1) * words] for numbers in (values, reference[1]))
            equal += one.index(max(one)) == two.index(max(two))
            sums = [math.log(sum(math.exp(value) for value in numbers)) for numbers in (one, two)]
            divergence.append(sum(math.exp(b - sums[1]) * (b - sums[1] - a + sums[0])
                                  for a, b in zip(one, two)))
            difference = max(abs(a - b) for a, b in zip(one, two))
            largest = max(largest, difference)
            relative = max(relative, difference / max(map(abs, two)))
        for key, expected in (("top1", equal / rows), ("mean_kl", sum(divergence) / rows),
                              ("max_kl", max(divergence)), ("max_difference", largest),
                              ("max_relative_difference", relative)):
            self.assertAlmostEqual(line[key], expected, delta=1e-7 + 1e-5 * abs(expected), msg=key)
        self.assertGreater(line["max_difference"], 0)

    def test_comparison_of_ids(self):
        ids, out = self.folder / "lists.json", self.folder / "lists.npy"
        ids.write_text('{"3": [5, 6, 7], "2": [8, 9]}', encoding="utf-8")
        line, = self.lines_of("eval", "--model", "exact", "--ids", ids, "-o", out)
        self.assertEqual((list(line), line["tokens"]), (["output", "perplexity", "tokens"], 3))
        self.assertEqual(self.compare("exact", "--ids", ids, "--against", out)["max_difference"], 0)
        ids.write_text("[[8, 9], [5, 6, 7], [1]]", encoding="utf-8")
        single = self.folder / "single.json"
        single.write_text("[5, 6, 7]", encoding="utf-8")
        self.assert_works("eval", "--model", "exact", "--ids", single, "-o", out)
        # Of these lists one has as many ids as the file has rows.
        line = self.compare("exact", "--ids", ids, "--against", out)
        self.assertEqual((line["positions"], line["max_difference"]), (3, 0))
        text = self.assert_works("eval", "--model", "exact", "--ids", ids, "--against", "kv")
        self.assertIn("% of 6 positions", text)
        ids.write_text("[1]", encoding="utf-8")
        self.assertIsNone(self.lines_of("eval", "--model", "exact", "--ids", ids)[0]["perplexity"])

    def test_comparison_refuses(self):
        text, ids, out = self.write_text(), self.folder / "two.json", self.folder / "two_ids.npy"
        ids.write_text("[1, 2]", encoding="utf-8")
        self.assert_works("eval", "--model", "tiny", "--logits", ids, "-o", out)
        content = out.read_bytes()
        compared = ("eval", "--model", "tiny", "--ids", ids, "--against")
        self.assert_fails(1, "[1, 2, 3]", *compared[:4], text, "--against", out)
        self.assert_fails(1, "no/where.npy", *compared, "no/where.npy")
        self.assert_fails(1, "are one file", *compared, out, "-o", out)
        self.assert_fails(1, "positions", "eval", "--model", "tiny", "--perplexity", text, "--context", "64",
                          "--against", out)
        for wrong, words in ((content[:-1], "expects"), (b"noise" * 99, "another kind"),
                             (content[:50], "cut off"), (content.replace(b"<f4", b"<f8"), "another type"),
                             (content.replace(b"(2,", b"(0,"), "a shape"),
                             (content[:-4] + b"\x00\x00\xc0\x7f", "finite")):
            with self.subTest(words):
                (self.folder / "wrong.npy").write_bytes(wrong)
                self.assert_fails(2, words, *compared, self.folder / "wrong.npy")
        (self.folder / "wrong.npy").unlink()

    def test_logits_removes_what_a_killed_run_left(self):
        ids, out = self.folder / "one.json", self.folder / "left.npy"
        ids.write_text("[1]", encoding="utf-8")
        for number in (0, 3):
            (self.folder / f"left.npy.tmp-{number}").write_bytes(b"half")
        self.assert_works("eval", "--model", "tiny", "--logits", ids, "-o", out)
        self.assertEqual(list(self.folder.glob("left.npy*")), [out])

    # Else the closed stream's number goes to another file, which is then read, or printed into.
    def test_closed_streams(self):
        for direction, command, words in (("<&-", ["tokenize"], "standard input"),
                                          ("<&-", ["chat"], "standard input"),
                                          (">&-", ["generate", "--prompt", "x"], "standard output")):
            with self.subTest(command):
                result = subprocess.run(
                    ["sh", "-c", f'"$0" "$@" {direction}', program.PROGRAM, *command, "--model", "tiny"],
                    capture_output=True, timeout=60, check=False, env=self.environment())
                self.assertEqual(result.returncode, 3, result.stderr)
                self.assertIn(words, result.stderr.decode())

    def test_perplexity(self):
        path = self.folder / "text.txt"
        path.write_text("bonjour le monde, il fait beau. " * 20, encoding="utf-8")
        line, = self.lines_of("eval", "--model", "exact", "--perplexity", path, "--context", "64")
        self.assertEqual(list(line), ["perplexity", "tokens"])
        self.assertGreater(line["tokens"], 64)
        # A model of noise finds the right token about as hard to guess as any of its words.
        words = len(tiny_model.vocabulary())
        self.assertTrue(words / 4 < line["perplexity"] < words * 4, line)

    def test_chat(self):
        lines = b"bonjour\n\n/nonsense\n/help\n/system sois bref\nbonjour\nencore\n/reset\nbonjour\n/quit\nx\n"
        replies = self.lines_of("chat", "--model", "tiny", "--max-tokens", "4", standard_input=lines)
        self.assertEqual([list(reply) for reply in replies], [REPLY] * 4)
        first, asked, again, anew = (reply["prompt_tokens"] for reply in replies)
        self.assertGreater(asked, first)
        self.assertGreater(again, asked)
        self.assertEqual(anew, asked)
        text = self.assert_works("chat", "--model", "tiny", "--max-tokens", "4", standard_input=lines)
        self.assertEqual(text.count("; stop: length]"), 4)
        self.assertIn("(no such directive", text)

    def test_a_conversation_is_kept(self):
        path = self.folder / "talk.kzchat"
        lines = f"bonjour\n/save {path}\nencore\n/undo\nautre\n/load {path}\nencore\n/stats\n"
        replies = self.lines_of("chat", "--model", "tiny", "--max-tokens", "4",
                                standard_input=lines.encode())
        first, before, other, after = replies
        self.assertEqual(before["tokens"], after["tokens"])
        # Of the prompt only the question is new, whether it went on or came back.
        for reply in (before, other, after):
            self.assertGreaterEqual(reply["cached_tokens"], first["prompt_tokens"] + 3)
        text = self.assert_works("chat", "--model", "tiny", "--max-tokens", "4",
                                 standard_input=f"/load {path}\n/stats\n/undo\n/undo\n/save\n".encode())
        for words in ("goes on", "tokens in the context", "are forgotten", "nothing to take back",
                      "name is missing"):
            self.assertIn(words, text)
        self.assert_fails(1, "belongs to the program", "chat", "--model", "kv",
                          standard_input=f"/load {path}\n".encode())
        self.assert_fails(2, "cut", "chat", "--model", "tiny", standard_input=self.cut(path))
        self.assert_fails(1, "no such", "chat", "--model", "tiny", standard_input=b"/load no such\n")

    @staticmethod
    def cut(path):
        path.write_bytes(path.read_bytes()[:-1])
        return f"/load {path}\n".encode()

    def test_a_long_conversation(self):
        lines = b"".join(b"bonjour %d\n" % i for i in range(60))
        drop = self.lines_of("chat", "--model", "tiny", "--max-tokens", "6", standard_input=lines)
        self.assertEqual(len(drop), 60)
        most = max(reply["prompt_tokens"] for reply in drop)
        self.assertLess(drop[-1]["prompt_tokens"], most + 1)
        # What was dropped was computed before the question came.
        for reply in drop:
            self.assertLess(reply["prompt_tokens"] - reply["cached_tokens"], 60)
        self.assert_fails(1, "context", "chat", "--model", "tiny", "--max-tokens", "6", "--overflow",
                          "refuse", standard_input=lines)

    def stop(self, number, *arguments):
        """Ends a run that waits for input by a signal: its exit code."""
        with subprocess.Popen([program.PROGRAM, *arguments], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=self.environment()) as process:
            process.stdin.write(b'"a"\n')
            process.stdin.flush()
            process.stdout.readline()
            process.send_signal(number)
            return process.wait(20)

    def test_ctrl_c(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            for arguments in (["tokenize", "--model", "tiny"],
                              ["chat", "--model", "tiny", "--max-tokens", "2"]):
                with self.subTest((number, arguments)):
                    self.assertEqual(self.stop(number, *arguments), 130)

    # Stopped at any moment, an export leaves the whole program or none, and nothing beside it.
    def test_ctrl_c_in_an_export(self):
        path = self.folder / "stopped.kzp"
        codes = set()
        for delay_ms in range(0, 24, 2):
            path.unlink(missing_ok=True)
            with subprocess.Popen([program.PROGRAM, "export", str(self.checkpoint), "-o", str(path)],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                time.sleep(delay_ms / 1000)
                process.send_signal(signal.SIGINT)
                process.communicate()
                codes.add(process.returncode)
            if path.exists():
                self.assert_works("inspect", path, "--verify")
            self.assertEqual([name for name in os.listdir(self.folder) if "stopped.kzp." in name], [])
        self.assertLessEqual(codes, {0, 130, -signal.SIGINT})


if __name__ == "__main__":
    unittest.main()
