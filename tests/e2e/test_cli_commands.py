#!/usr/bin/env python3
"""commands, on grammars written here, and commands in the sound on tiny models.

In: the program kazeia. Out: unittest's report.
"""
import json
import unittest

import program
import tiny_listener
import tiny_model

VOICE = program.ROOT / "examples/audio/mer_jaune.wav"
COUNTS = ["templates", "blocks", "intents", "rules", "lists", "names", "sentences", "tried", "unreachable",
          "ambiguous"]
HEARD = ["file", "best", "verdict", "score", "end", "margin", "runner_up", "runner_up_score",
         "transcript", "positions", "prior_positions", "nodes", "ms", "listen_ms"]

GRAMMAR = """
language: fr
intents:
  Pause:
    data:
      - sentences: ["pause"]
        response: default
  Paume:
    data:
      - sentences: ["paume"]
        response: default
  Lumiere:
    data:
      - sentences: ["allume [la lumière] {area}", "lumière {pour_cent}[ ]%"]
        response: default
  Ouvre:
    data:
      - sentences: ["ouvre"]
        slots: {domain: lock}
        response: default
lists:
  pour_cent:
    range: {from: 0, to: 100}
responses:
  intents:
    Pause: {default: "En pause."}
    Paume: {default: "Paume."}
    Lumiere: {default: "Lumière."}
    Ouvre: {default: "Ouvert."}
"""

HOME = """
areas: [Salon, Bureau]
"""


class Commands(program.Program):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.grammar, cls.home = cls.folder / "grammar.yaml", cls.folder / "home.yaml"
        cls.grammar.write_text(GRAMMAR, encoding="utf-8")
        cls.home.write_text(HOME, encoding="utf-8")
        tiny_model.write(cls.folder / "talker.gguf")
        # The x is no letter of any command: s and m are nearly heard in its place, all but alike.
        tiny_listener.write(cls.folder / "near_tie", " Pauxe", {4: "sm"})
        tiny_listener.write(cls.folder / "one_way", " Pauxe", {4: "s"})
        tiny_listener.write(cls.folder / "lock", " Ouvxe", {4: "r"})
        tiny_listener.write(cls.folder / "story", " Il neige")
        for source, name in (("talker.gguf", "talker"), ("near_tie", "near_tie"),
                             ("one_way", "one_way"), ("lock", "lock"), ("story", "story")):
            cls.run_program("export", cls.folder / source, "-o", cls.folder / f"{name}.kzp")

    def match(self, text, *more):
        return self.lines_of("commands", "match", self.grammar, *more,
                             standard_input=text.encode())

    # ---- text

    def test_sentences_are_matched(self):
        none, light, level = self.match("Il neige.\nAllume le salon !\nLumière vingt %\n",
                                        "--home", self.home)[:3]
        self.assertEqual(none, {"intent": None, "slots": {}})
        self.assertIsNone(light["intent"])
        self.assertEqual((level["intent"], level["slots"]), ("Lumiere", {"pour_cent": 20}))
        self.assertEqual(level["found"], "text")
        area = self.match("allume salon\n", "--home", self.home)[0]
        self.assertEqual((area["intent"], area["slots"]), ("Lumiere", {"area": "Salon"}))

    def test_a_grammar_is_checked(self):
        counts = self.lines_of("commands", "check", self.grammar, "--home", self.home)[-1]
        self.assertEqual(list(counts), COUNTS)
        self.assertEqual((counts["intents"], counts["templates"], counts["unreachable"]), (4, 5, 0))
        alone = self.lines_of("commands", "check", self.grammar)
        self.assertEqual((alone[0]["finding"], alone[0]["line"]), ("unreachable", 14))

    # Each is compared with all: of thousands only some are.
    def test_a_grammar_of_thousands_is_checked(self):
        path = self.folder / "thousands.yaml"
        sentences = "".join(f'          - "allume la lampe numéro {i}"\n' for i in range(3000))
        path.write_text("language: fr\nintents:\n  Allumer:\n    data:\n      - sentences:\n" + sentences,
                        encoding="utf-8")
        counts, = self.lines_of("commands", "check", path)
        self.assertEqual((counts["templates"], counts["tried"]), (3000, 334))
        self.assertEqual((counts["unreachable"], counts["ambiguous"]), (0, 0))

    def test_tests_are_counted(self):
        homes, tests = self.folder / "homes.jsonl", self.folder / "tests.jsonl"
        homes.write_text(json.dumps({"file": "a", "areas": ["Salon"]}) + "\n"
                         + json.dumps({"file": "b", "areas": ["Cave"]}) + "\n", encoding="utf-8")
        wanted = [{"sentence": "allume cave", "intent": "Lumiere", "slots": {"area": "cave"}, "file": "b"},
                  {"sentence": "allume cave", "intent": "Lumiere", "slots": {"area": "cave"}, "file": "a"}]
        tests.write_text("".join(json.dumps(one) + "\n" for one in wanted), encoding="utf-8")
        for more, right in (([], 1), (["--union"], 2)):
            result = self.run_program("commands", "test", self.grammar, "--fixtures", homes, *more,
                                      tests, "--json")
            self.assertEqual(result.stderr, f"{right} of 2 right\n")
            self.assertEqual(len(result.stdout.splitlines()), 2)
            self.assertEqual(json.loads(result.stdout.splitlines()[0]),
                             {"intent": "Lumiere", "slots": {"area": "Cave"}})

    def test_hostile_grammars_are_refused(self):
        head = "language: fr\nintents:\n  A:\n    data:\n      - sentences:\n          - "
        deep = "".join(f"  r{i}: '(<r{i + 1}>|<r{i + 1}>) (<r{i + 1}>|<r{i + 1}>)'\n" for i in range(40))
        cases = {
            "loop": (head + "'<a>'\nexpansion_rules:\n  a: 'x <b>'\n  b: 'y <a>'\n", "back to itself"),
            "deep": (head + "'<r0>'\nexpansion_rules:\n" + deep + "  r40: 'x'\n", "parts in"),
            "yaml": (head + "[\n", "yaml"),
            "open": (head + "'(a|b'\n", "not closed"),
            "permutation": (head + "'(" + ";".join(f"a{i}" for i in range(20)) + ")'\n", ""),
            "huge": (head + "'{l}'\nlists:\n  l:\n    values:\n"
                     + "".join(f"      - 'mot {i}'\n" for i in range(600000)), ""),
        }
        for name, (text, words) in cases.items():
            with self.subTest(name):
                path = self.folder / f"{name}.yaml"
                path.write_text(text, encoding="utf-8")
                result = self.run_program("commands", "check", path, timeout=60)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(words, result.stderr)
                self.assertRegex(result.stderr, rf"{name}\.yaml")
                self.assertEqual(result.stderr.count("\n"), 1)

    # ---- sound

    def hear(self, model, *more):
        return self.lines_of("commands", "hear", "--stt", model, "--language", "fr", *more, self.grammar,
                             VOICE)[0]

    def test_what_is_nearly_heard_is_found(self):
        heard = self.hear("one_way")
        self.assertEqual(list(heard), HEARD)
        self.assertEqual((heard["transcript"], heard["verdict"]), ("Pauxe", "accepted"))
        self.assertEqual((heard["best"]["intent"], heard["best"]["found"]), ("Pause", "sound"))
        # This decoder hears nothing: what it would say anyway takes 0.3 of the whole.
        said, end = tiny_listener.log_probability(" Pauxe", {4: "s"}, " Pause", ".?!")
        self.assertAlmostEqual(heard["score"], 0.7 * (said + end), delta=0.02)
        self.assertAlmostEqual(heard["end"], end, delta=0.01)

    def test_what_is_something_else_is_refused(self):
        heard = self.hear("story")
        self.assertEqual((heard["verdict"], heard["best"]["intent"]), ("refused", None))
        # Hopeless after a few letters.
        self.assertLess(heard["positions"], 12)

    def test_near_ties_ask(self):
        heard = self.hear("near_tie")
        self.assertEqual(heard["verdict"], "ask")
        self.assertEqual({heard["best"]["text"], heard["runner_up"]}, {"Pause", "Paume"})
        self.assertLess(heard["margin"], 0.7)

    def test_locks_ask_for_more(self):
        self.assertEqual(self.hear("lock")["verdict"], "confirm")

    def turn(self, model, *more):
        return self.lines_of("turn", "--stt", model, "--llm", "talker", "--max-tokens", "4", "--language",
                             "fr", "--commands", self.grammar, "-o", self.folder / "reply.wav", *more,
                             VOICE)[0]

    def test_a_turn_asks_back(self):
        written = self.folder / "told.json"
        tell = self.folder / "tell.sh"
        tell.write_text(f"#!/bin/sh\ncat >> '{written}'\n", encoding="utf-8")
        tell.chmod(0o755)
        reply = self.turn("near_tie", "--on-command", tell)["reply"]
        self.assertRegex(reply, r"^Voulez-vous dire : Pau[sm]e, ou bien : Pau[sm]e \?$")
        self.assertEqual(self.turn("lock", "--on-command", tell)["reply"],
                         "Voulez-vous vraiment : Ouvre ?")
        self.assertFalse(written.exists())  # nothing was carried out
        turn = self.turn("one_way", "--on-command", tell)
        self.assertEqual((turn["command"]["intent"], turn["reply"]), ("Pause", "En pause."))
        self.assertEqual(json.loads(written.read_text(encoding="utf-8"))["found"], "sound")

    def write_labels(self, *rows):
        path = self.folder / "labels.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    def tune(self, model, labels, *more):
        return self.lines_of("commands", "tune", "--stt", model, "--language", "fr", *more, self.grammar,
                             labels)[0]

    def test_thresholds_are_tuned(self):
        out = self.folder / "tuned"
        # What sounds like "pause" was none: it must be refused from now on.
        labels = self.write_labels({"file": str(VOICE), "text": None})
        tuned = self.tune("one_way", labels, "-o", out)
        self.assertEqual((tuned["sounds"], tuned["commands"], tuned["labels"]), (1, 0, 1))
        heard = self.hear("one_way", "--tuned", out)
        self.assertEqual((heard["best"]["intent"], heard["verdict"]), ("Pause", "refused"))
        # What is known of the decoder without sound is not computed again.
        self.assertEqual(heard["prior_positions"], 0)
        # It was one after all.
        labels = self.write_labels({"file": str(VOICE), "text": "Pause !"})
        self.assertEqual(self.tune("one_way", labels, "-o", out)["commands"], 1)
        self.assertEqual(self.hear("one_way", "--tuned", out)["verdict"], "accepted")
        self.assertEqual(self.turn("one_way", "--tuned", out)["command"]["intent"], "Pause")

    def test_thresholds_belong_to_a_program(self):
        out = self.folder / "other"
        labels = self.write_labels({"file": str(VOICE), "text": "pause"})
        self.tune("one_way", labels, "-o", out)
        hear = ["commands", "hear", "--stt", "near_tie", self.grammar, VOICE, "--tuned", out]
        result = self.run_program(*hear)
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r"other: tuned for the program [0-9a-f]{16}, this one is "
                                        r"[0-9a-f]{16}; run 'kazeia commands tune'")
        out.write_bytes(out.read_bytes()[:-1])
        self.assert_fails(2, "damaged", *hear)
        self.assert_fails(1, "-o TUNED is missing", "commands", "tune", "--stt", "one_way", self.grammar,
                          labels)
        self.assert_fails(1, "LABELS.jsonl is missing", "commands", "tune", "--stt", "one_way",
                          self.grammar, "-o", out)
        self.assert_fails(2, "has no text 'file'", "commands", "tune", "--stt", "one_way", self.grammar,
                          self.write_labels({"text": "pause"}), "-o", out)


if __name__ == "__main__":
    unittest.main()
