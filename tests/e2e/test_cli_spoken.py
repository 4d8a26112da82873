"""kazeia spoken and kazeia sentences: lines in, lines out, as text and as JSON.

In: tests/golden/text.
"""
import json
import unittest

import program

GOLDEN = program.ROOT / "tests/golden/text"


def rows(name):
    return [json.loads(line) for line in (GOLDEN / name).read_text().splitlines()]


class Spoken(program.Program):
    def ask(self, command, lines, *options):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        output = self.assert_works(command, "--json", *options, standard_input=text.encode())
        return [json.loads(line) for line in output.splitlines()]

    def test_words(self):
        for language in ("fr", "en"):
            cases = rows(f"spoken_more_{language}.jsonl")
            answers = self.ask("spoken", [case["text"] for case in cases], "--language", language)
            self.assertEqual(answers, [case["spoken"][0] for case in cases])

    def test_words_of_plain_lines(self):
        output = self.assert_works("spoken", standard_input="Il est 8h.\n\n😀\n".encode())
        self.assertEqual(output, "Il est huit heures.\n\n\n")

    def test_sentences(self):
        cases = [case for case in rows("sentences.jsonl") if "sentences" in case]
        asked = [{"text": case["text"], "language": case["lang"]} for case in cases]
        for case, answer in zip(cases, self.ask("sentences", asked), strict=True):
            pieces = [" ".join(piece.split()) for piece in answer]
            right = [case["sentences"]] + case.get("also", [])
            self.assertIn(pieces, [[" ".join(p.split()) for p in cut] for cut in right])

    def test_longest_sentence(self):
        answer, = self.ask("sentences", [{"text": "un deux trois quatre", "max_chars": 10}])
        self.assertEqual(" ".join(answer), "un deux trois quatre")
        self.assertLessEqual(max(map(len, answer)), 10)

    def test_refusals(self):
        for command, line, words in (
                ("spoken", b"3\n", "expected a JSON string"),
                ("sentences", b'{"text": 3}\n', "expected {"),
                ("sentences", b'{"text": "a", "max_chars": -1}\n', "8 to 100000")):
            result = self.run_program(command, "--json", standard_input=line)
            self.assertEqual((result.returncode, result.stderr), (1, ""))
            self.assertIn(words, json.loads(result.stdout)["error"])


if __name__ == "__main__":
    unittest.main()
