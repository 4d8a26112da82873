#!/usr/bin/env python3
"""One conversation of three turns with the real models: what was heard, understood and spoken.

In: the kazeia program; program files whisper-base.kzp and smollm2-135m.kzp under $KAZEIA_MODELS. Out:
unittest's report. What the language model answers is not judged, only that it answers.
"""
import array
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import wave
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLIPS = ["allume_les_lumieres.wav", "mer_jaune.wav", "jfk.wav"]
PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else str(ROOT / "build/release/kazeia")


class RealTurn(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        models = pathlib.Path(os.environ.get("KAZEIA_MODELS", pathlib.Path.home() / ".cache/kazeia"))
        for name in ("whisper-base", "smollm2-135m"):
            if not (models / f"{name}.kzp").is_file():
                raise FileNotFoundError(f"{models}/{name}.kzp: run ./scripts/prepare-models {name}")
        cls.folder = tempfile.TemporaryDirectory()
        cls.sound = pathlib.Path(cls.folder.name) / "turns.wav"
        cls.picture = pathlib.Path(cls.folder.name) / "turns.svg"
        command = [PROGRAM, "turn", "--stt", "whisper-base", "--llm", "smollm2-135m", "--voice",
                   "espeak:fr", "--commands", str(ROOT / "examples/commandes.yaml"), "--json",
                   "--timeline", str(cls.picture), "-o", str(cls.sound),
                   *(str(ROOT / "examples/audio" / clip) for clip in CLIPS)]
        environment = {**os.environ, "KAZEIA_MODELS": str(models)}
        cls.result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False,
                                    env=environment)
        cls.turns = [json.loads(line) for line in cls.result.stdout.splitlines()]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_exit_code(self):
        self.assertEqual(self.result.returncode, 0, self.result.stderr)

    def test_a_line_a_turn(self):
        self.assertEqual([pathlib.Path(turn["file"]).name for turn in self.turns], CLIPS)

    def test_french_command(self):
        turn = self.turns[0]
        self.assertEqual(turn["language"], "fr")
        self.assertIn("dans la chambre", turn["transcript"].lower())
        self.assertTrue(turn["command"]["intent"])
        self.assertTrue(turn["command"]["slots"])

    def test_french_sentence(self):
        turn = self.turns[1]
        self.assertEqual(turn["language"], "fr")
        self.assertIn("situés au bord de la mer", turn["transcript"])
        self.assertIsNone(turn["command"])

    def test_english_sentence(self):
        turn = self.turns[2]
        self.assertEqual(turn["language"], "en")
        self.assertIn("ask what you can do for your country", turn["transcript"])
        self.assertIsNone(turn["command"])

    def test_every_turn_is_answered(self):
        for turn in self.turns:
            with self.subTest(turn["file"]):
                self.assertTrue(turn["reply"].strip())
                self.assertGreater(turn["audio_s"], 0.2)
                self.assertGreater(turn["voice_to_voice_ms"], 0)

    def test_stages_run_forward(self):
        for turn in self.turns:
            for stage in turn["stages"]:
                with self.subTest(f"{turn['file']} {stage}"):
                    self.assertLessEqual(stage["start_ms"], stage["first_ms"])
                    self.assertLessEqual(stage["first_ms"], stage["end_ms"])

    def test_sound(self):
        with wave.open(str(self.sound)) as sound:
            seconds = sound.getnframes() / sound.getframerate()
            samples = array.array("h", sound.readframes(sound.getnframes()))
        spoken = sum(turn["audio_s"] for turn in self.turns)
        self.assertGreaterEqual(seconds, spoken - 0.1)
        self.assertGreater(max(map(abs, samples)), 1000, "the replies are silent")

    def test_timeline(self):
        picture = xml.etree.ElementTree.parse(self.picture).getroot()
        self.assertTrue(picture.tag.endswith("svg"))


if __name__ == "__main__":
    unittest.main()
