#!/usr/bin/env python3
"""transcribe, say and turn on tiny models and espeak-ng's voice.

In: the program kazeia. Out: unittest's report.
"""
import array
import json
import math
import os
import signal
import subprocess
import time
import unittest
import wave
import xml.etree.ElementTree

import program
import tiny_listener
import tiny_model

HEARD = ["file", "language", "text", "tokens", "avg_logprob", "no_speech_prob", "audio_s", "seconds",
         "segments"]
TURN = ["file", "transcript", "language", "command", "reply", "stages", "voice_to_voice_ms", "audio_s"]
SILENCE = 0.3
HEARD_TEXT = "Allume la lumière dans la chambre."
# A person's voice, where the guards that listen for one are on.
VOICE = program.ROOT / "examples/audio/mer_jaune.wav"
DETECTOR = program.ROOT / "tests/golden/silero/silero_vad_16k.safetensors"


def write_wave(path, seconds, rate=16000, channels=1):
    """A tone, in every channel."""
    samples = array.array("h", (round(8000 * math.sin(i / 20)) for i in range(round(seconds * rate))
                                for _ in range(channels)))
    with wave.open(str(path), "wb") as sound:
        sound.setparams((channels, 2, rate, 0, "NONE", ""))
        sound.writeframes(samples.tobytes())


def read_wave(path):
    with wave.open(str(path)) as sound:
        samples = array.array("h", sound.readframes(sound.getnframes()))
        return sound.getframerate(), samples


class Speech(program.Program):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        tiny_model.write(cls.folder / "talker.gguf")
        tiny_listener.write(cls.folder / "listener", HEARD_TEXT)
        for source, name in (("talker.gguf", "talker"), ("listener", "listener"),
                             (DETECTOR, "detector")):
            result = cls.run_program("export", cls.folder / source, "-o", cls.folder / f"{name}.kzp")
            if result.returncode != 0:
                raise RuntimeError(result.stderr)
        cls.sound = cls.folder / "sound.wav"
        write_wave(cls.sound, 3)

    def transcribe(self, *more):
        return self.lines_of("transcribe", "--model", "listener", "--no-guards", *more)

    def test_transcribe(self):
        line, = self.transcribe(self.sound)
        self.assertEqual(list(line), HEARD)
        self.assertEqual((line["language"], line["text"]), ("fr", HEARD_TEXT))
        self.assertEqual(line["tokens"], list(HEARD_TEXT.encode()))
        self.assertEqual(line["audio_s"], 3.0)
        self.assertTrue(-0.1 < line["avg_logprob"] <= 0)
        self.assertTrue(0 <= line["no_speech_prob"] < 0.1)
        text = self.assert_works("transcribe", "--model", "listener", "--no-guards", self.sound)
        self.assertEqual(text, line["text"] + "\n")

    def test_language_is_taken_as_given(self):
        for language in ("fr", "en"):
            self.assertEqual(self.transcribe("--language", language, self.sound)[0]["language"], language)
        self.assert_fails(1, "xx", "transcribe", "--model", "listener", "--language", "xx", self.sound)

    def test_rates_and_channels(self):
        path = self.folder / "stereo.wav"
        write_wave(path, 1, 44100, 2)
        line, = self.transcribe(path)
        self.assertAlmostEqual(line["audio_s"], 1, delta=0.01)

    def test_long_files_have_several_windows(self):
        path = self.folder / "long.wav"
        write_wave(path, 70)
        line, = self.transcribe(path)
        self.assertEqual(line["audio_s"], 70.0)
        self.assertEqual(line["text"], " ".join([HEARD_TEXT] * 3))
        self.assertEqual(line["tokens"], list(HEARD_TEXT.encode()) * 3)
        self.assertEqual([segment["text"] for segment in line["segments"]], [HEARD_TEXT] * 3)
        self.assertEqual(line["segments"][0]["start_s"], 0.0)
        self.assertEqual(line["segments"][2]["end_s"], 70.0)
        for before, after in zip(line["segments"], line["segments"][1:]):
            self.assertEqual(before["end_s"], after["start_s"])
        text = self.assert_works("transcribe", "--model", "listener", "--no-guards", "--times", path)
        first = text.splitlines()[0].split(" ", 2)
        self.assertEqual((first[0], first[2], text.count("\n")), ("0.00", HEARD_TEXT, 3))

    def join(self, name, pauses):
        """A file of a person's voice after each of the pauses; where each one begins."""
        _, voice = read_wave(VOICE)
        samples, starts = array.array("h"), []
        for pause in pauses:
            samples.extend(array.array("h", bytes(2 * round(16000 * pause))))
            starts.append(len(samples) / 16000)
            samples.extend(voice)
        path = self.folder / name
        with wave.open(str(path), "wb") as sound:
            sound.setparams((1, 2, 16000, 0, "NONE", ""))
            sound.writeframes(samples.tobytes())
        return path, starts

    def test_voice_activity(self):
        path, starts = self.join("voices.wav", (0, 2, 40, 3))
        spans, = self.lines_of("vad", "--model", "detector", VOICE)
        alone = spans[0]["start_s"], spans[-1]["end_s"]
        self.assertTrue(0 <= alone[0] < alone[1] <= 6)
        # In the long file each voice is found where it is, within a window and its hysteresis.
        line, = self.transcribe("--vad", "detector", path)
        segments = line["segments"]
        self.assertEqual(len(segments), len(starts))
        for segment, start in zip(segments, starts):
            self.assertEqual(segment["text"], HEARD_TEXT)
            self.assertAlmostEqual(segment["start_s"], start + alone[0], delta=0.1)
            self.assertAlmostEqual(segment["end_s"], start + alone[1], delta=0.1)
        spans, = self.lines_of("vad", "--model", "detector", path)
        self.assertGreaterEqual(len(spans), len(starts))
        text = self.assert_works("vad", "--model", "detector", path)
        self.assertEqual(text.count("\n"), len(spans))

    def test_nobody_speaks(self):
        self.assertEqual(self.lines_of("vad", "--model", "detector", self.sound), [[]])
        line, = self.transcribe("--vad", "detector", self.sound)
        self.assertEqual((line["text"], line["segments"], line["no_speech_prob"]), ("", [], 1))
        turn, = self.turn("--vad", "detector", "-o", self.folder / "nobody.wav", self.sound)
        self.assertEqual((turn["transcript"], turn["reply"], turn["voice_to_voice_ms"]), ("", "", None))

    def test_the_usual_voice_activity(self):
        usual = self.folder / "silero-vad.kzp"
        usual.write_bytes((self.folder / "detector.kzp").read_bytes())
        try:
            line, = self.lines_of("transcribe", "--model", "listener", VOICE)
            self.assertGreater(line["segments"][0]["start_s"], 0)
            line, = self.lines_of("transcribe", "--model", "listener", "--vad", "none", VOICE)
            self.assertEqual(line["segments"][0]["start_s"], 0)
            line, = self.transcribe(VOICE)
            self.assertEqual(line["segments"][0]["start_s"], 0)
        finally:
            usual.unlink()

    def test_voice_activity_refuses(self):
        self.assert_fails(1, "'vad' expected", "vad", "--model", "listener", self.sound)
        self.assert_fails(1, "'vad' expected", "transcribe", "--model", "listener", "--vad", "talker",
                          self.sound)
        self.assert_fails(1, "cannot read 'nowhere.wav'", "vad", "--model", "detector", "nowhere.wav")

    def test_silence_is_no_speech(self):
        path = self.folder / "silence.wav"
        with wave.open(str(path), "wb") as sound:
            sound.setparams((1, 2, 16000, 0, "NONE", ""))
            sound.writeframes(bytes(64000))
        line, = self.lines_of("transcribe", "--model", "listener", path)
        self.assertEqual((line["text"], line["tokens"], line["audio_s"]), ("", [], 2.0))
        turn, = self.turn("-o", self.folder / "silent.wav", path)
        self.assertEqual((turn["transcript"], turn["reply"], turn["command"], turn["voice_to_voice_ms"]),
                         ("", "", None, None))
        self.assertEqual((line["language"], turn["language"]), (None, None))
        self.assertEqual(len(read_wave(self.folder / "silent.wav")[1]), 0)

    def test_no_samples(self):
        path = self.folder / "none.wav"
        write_wave(path, 0)
        line, = self.transcribe(path)
        self.assertEqual((line["text"], line["tokens"], line["audio_s"]), ("", [], 0.0))

    def test_a_failing_file_does_not_stop_the_others(self):
        (self.folder / "empty.wav").write_bytes(b"")
        files = ["nowhere.wav", self.folder / "empty.wav", self.sound]
        result = self.run_program("transcribe", "--model", "listener", "--json", *files)
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([list(line) for line in lines[:2]], [["file", "error"]] * 2)
        self.assertEqual([line["file"] for line in lines], list(map(str, files)))
        self.assertEqual(list(lines[2]), HEARD)
        self.assertEqual((result.returncode, result.stderr), (2, ""))
        result = self.run_program("transcribe", "--model", "listener", files[0], self.sound)
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot read 'nowhere.wav': no such file", result.stderr)
        self.assertEqual(result.stderr.count("nowhere.wav"), 1)
        self.assertIn(f"{self.sound}: ", result.stdout)

    def test_the_wrong_kind_of_program(self):
        self.assert_fails(1, "'listen' expected", "transcribe", "--model", "talker", self.sound)
        self.assert_fails(1, "'chat' expected", "bench", "--model", "listener")

    def test_say(self):
        out = self.folder / "say.wav"
        line, = self.lines_of("say", "-o", out, "Bonjour à tous.")
        self.assertEqual(list(line), ["audio_s", "first_audio_ms", "rtf"])
        rate, samples = read_wave(out)
        self.assertAlmostEqual(len(samples) / rate, line["audio_s"], delta=0.001)
        self.assertGreater(max(map(abs, samples)), 1000)
        self.assertTrue(0 < line["rtf"] < 1)

    def test_say_standard_input(self):
        one, other = self.folder / "one.wav", self.folder / "other.wav"
        self.assert_works("say", "-o", one, "Bonjour. Il fait beau.")
        self.assert_works("say", "-o", other, "-", standard_input="Bonjour. Il fait beau.".encode())
        self.assertEqual(one.read_bytes(), other.read_bytes())

    def test_speed(self):
        slow, fast = (self.lines_of("say", "-o", self.folder / "speed.wav", "--speed", speed,
                                    "Bonjour à tous.")[0]["audio_s"] for speed in ("0.5", "2"))
        self.assertGreater(slow, 1.5 * fast)

    def test_say_nothing(self):
        out = self.folder / "nothing.wav"
        line, = self.lines_of("say", "-o", out, "")
        self.assertEqual(line, {"audio_s": 0.0, "first_audio_ms": None, "rtf": None})
        self.assertEqual(len(read_wave(out)[1]), 0)

    def test_say_removes_what_a_killed_run_left(self):
        out = self.folder / "killed.wav"
        with subprocess.Popen([program.PROGRAM, "say", "-o", out, "-"], stdin=subprocess.PIPE,
                              env=self.environment()) as process:
            while process.poll() is None and not list(self.folder.glob("killed.wav.tmp-*")):
                time.sleep(0.01)
            process.kill()
        self.assertEqual(len(list(self.folder.glob("killed.wav*"))), 1)
        self.assert_works("say", "-o", out, "bonjour")
        self.assertEqual(list(self.folder.glob("killed.wav*")), [out])

    def test_say_without_a_voice_reads_the_language(self):
        out = self.folder / "usual.wav"
        words = [self.lines_of("say", "--show-spoken", "-o", out, *language, "2")[0]["spoken"]
                 for language in ((), ("--language", "en"))]
        self.assertEqual(words, ["deux", "two"])

    def test_say_refuses(self):
        out = self.folder / "refused.wav"
        self.assert_fails(1, "zz", "say", "--voice", "espeak:zz", "-o", out, "x")
        self.assert_fails(1, "as kokoro:ff_siwis, or espeak:LANGUAGE", "say", "--voice", "nobody",
                          "-o", out, "x")
        self.assert_fails(1, "--speed is '0'", "say", "--speed", "0", "-o", out, "x")
        self.assertEqual(list(self.folder.glob("refused*")), [])

    def test_ctrl_c_while_speaking(self):
        out = self.folder / "stopped.wav"
        with subprocess.Popen([program.PROGRAM, "say", "-o", str(out), "-"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdin.write(b"Bonjour. Encore un mot. ")
            process.stdin.flush()
            while not any("stopped.wav" in name for name in os.listdir(self.folder)):
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(20), 130)
        self.assertEqual([name for name in os.listdir(self.folder) if "stopped.wav" in name], [])

    def turn(self, *more):
        return self.lines_of("turn", "--stt", "listener", "--llm", "talker", "--max-tokens", "20", *more)

    def test_commands_are_understood(self):
        out, picture = self.folder / "turn.wav", self.folder / "turn.svg"
        turns = self.turn("--commands", program.ROOT / "examples/commandes.yaml", "--timeline", picture,
                          "-o", out, VOICE, VOICE)
        for turn in turns:
            self.assertEqual(list(turn), TURN)
            self.assertEqual((turn["transcript"], turn["language"]), (HEARD_TEXT, "fr"))
            self.assertEqual(list(turn["command"]), ["intent", "slots"])
            self.assertIn("chambre", turn["command"]["slots"].values())
            self.assertTrue(turn["reply"])
            self.assertGreater(turn["audio_s"], 0.2)
            self.assertGreater(turn["voice_to_voice_ms"], 0)
            self.assertEqual([stage["stage"] for stage in turn["stages"]], ["listen", "command", "speak"])
        self.assert_sound(out, turns)
        text = "".join(xml.etree.ElementTree.parse(picture).getroot().itertext())
        self.assertEqual((text.count("mer_jaune.wav"), text.count(HEARD_TEXT)), (2, 2))
        self.assertEqual((text.count("first sound"), text.count("not needed")), (2, 2))

    def assert_sound(self, path, turns):
        """The file holds each reply once, and the pauses between them."""
        rate, samples = read_wave(path)
        spoken = [turn["audio_s"] for turn in turns if turn["audio_s"] > 0]
        seconds = sum(spoken) + SILENCE * max(0, len(spoken) - 1)
        self.assertAlmostEqual(len(samples) / rate, seconds, delta=0.01)

    def test_the_model_answers_without_commands(self):
        out = self.folder / "answer.wav"
        turns = self.turn("-o", out, VOICE, VOICE)
        for turn in turns:
            self.assertIsNone(turn["command"])
            self.assertIn("think", [stage["stage"] for stage in turn["stages"]])
            for stage in turn["stages"]:
                self.assertEqual(list(stage), ["stage", "start_ms", "first_ms", "end_ms"])
                self.assertLessEqual(stage["start_ms"], stage["first_ms"])
                self.assertLessEqual(stage["first_ms"], stage["end_ms"])
        self.assert_sound(out, turns)
        text = self.assert_works("turn", "--stt", "listener", "--llm", "talker", "--max-tokens", "5",
                                 "-o", out, VOICE)
        self.assertIn(f"heard (fr): {HEARD_TEXT}", text)

    def test_a_failing_recording(self):
        out = self.folder / "part.wav"
        result = self.run_program("turn", "--stt", "listener", "--llm", "talker", "--max-tokens", "4",
                                  "--json", "-o", out, "nowhere.wav", VOICE)
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual(result.returncode, 1)
        self.assertEqual([list(line) for line in lines], [["file", "error"], TURN])
        self.assertTrue(out.exists())
        (out).unlink()
        result = self.run_program("turn", "--stt", "listener", "--llm", "talker", "-o", out,
                                  "nowhere.wav")
        self.assertEqual(result.returncode, 1)
        self.assertFalse(out.exists())
        result = self.run_program("turn", "--stt", "listener", "--llm", "talker", "-o", out,
                                  "--timeline", self.folder / "part.svg", "nowhere.wav")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(list(self.folder.glob("part.*")), [])

    def test_turn_refuses(self):
        out = self.folder / "refused_turn.wav"
        wrong = self.folder / "wrong.yaml"
        wrong.write_text("intents: [", encoding="utf-8")
        ready = ["turn", "--stt", "listener", "--llm", "talker", "-o", out, VOICE]
        self.assert_fails(2, "wrong.yaml", *ready, "--commands", wrong)
        # Before the first turn: nothing was said, and no sound is kept.
        result = self.run_program(*ready, "--timeline", self.folder / "nowhere" / "turn.svg")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("expected a name in a folder that exists", result.stderr)
        self.assert_fails(1, "'chat' expected", "turn", "--stt", "listener", "--llm", "listener", "-o",
                          out, VOICE)
        self.assert_fails(1, "are one file", *ready, "--timeline", out)
        both = self.folder / "both.wav"
        write_wave(both, 1)
        self.assert_fails(1, "are one file", *ready[:-2], both, both)
        self.assert_fails(1, "are one file", *ready, "--timeline", f"{self.folder}/./{out.name}")
        self.assertEqual(list(self.folder.glob("refused_turn*")), [])

    def test_turn_never_writes_over_its_programs(self):
        outside = ["turn", "--stt", "listener", "--llm", "talker", VOICE]
        for name in ("listener.kzp", "talker.kzp"):
            program = self.folder / name
            content = program.read_bytes()
            self.assert_fails(1, "are one file", *outside, "-o", program)
            self.assert_fails(1, "are one file", *outside, "-o", self.folder / "refused.wav",
                              "--timeline", program)
            self.assertEqual(program.read_bytes(), content)


if __name__ == "__main__":
    unittest.main()
