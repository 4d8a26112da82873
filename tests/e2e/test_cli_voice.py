"""kazeia say, codec and voice with programs that speak.

In: tests/golden/qwen3_tts.
"""
import json
import pathlib
import shutil
import struct
import subprocess
import time
import unittest
import wave

import program
import tiny_listener
import tiny_model

GOLDEN = program.ROOT / "tests/golden/qwen3_tts"
EXPECTED = GOLDEN / "expected"


def read_array(path):
    """Shape and values of a float32 or int32 array of NumPy's."""
    data = pathlib.Path(path).read_bytes()
    length = struct.unpack("<H", data[8:10])[0]
    header = eval(data[10:10 + length], {"__builtins__": {}})  # a literal, as NumPy defines it
    kind = {"<f4": "f", "<i4": "i"}[header["descr"]]
    body = data[10 + length:]
    return header["shape"], struct.unpack(f"<{len(body) // 4}{kind}", body)


class Voices(program.Program):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for kind in ("custom", "base"):
            result = cls.run_program("export", GOLDEN / kind, "--weights", "f32", "--kv", "f32",
                                     "-o", cls.folder / f"{kind}.kzp")
            assert result.returncode == 0, result.stderr
        tiny_model.write(cls.folder / "talker.gguf")
        tiny_listener.write(cls.folder / "heard", " Il neige")
        for source, name in (("talker.gguf", "talker"), ("heard", "listener")):
            cls.run_program("export", cls.folder / source, "-o", cls.folder / f"{name}.kzp")

    def say(self, voice, text, *options):
        return self.lines_of("say", "--voice", voice, "-o", self.folder / "out.wav", *options,
                             text)[0]

    def assert_dump_is(self, run):
        """What --dump wrote is the golden run: codes equal, floats close."""
        for name in ("code0", "codes"):
            self.assertEqual(read_array(self.folder / f"{name}.npy"),
                             read_array(EXPECTED / run / f"{name}.npy"))
        for name in ("prefill", "logits"):
            shape, values = read_array(self.folder / f"{name}.npy")
            expected_shape, expected = read_array(EXPECTED / run / f"{name}.npy")
            self.assertEqual(shape, expected_shape)
            largest = max(map(abs, expected))
            worst = max(abs(a - b) for a, b in zip(values, expected, strict=True))
            self.assertLessEqual(worst, 1e-4 * largest)

    def test_a_greedy_run_is_the_reference(self):
        meta = json.loads((EXPECTED / "custom/french_vivian/meta.json").read_text())
        answer = self.say("custom:vivian", meta["text"], "--greedy", "--max-frames", "40",
                          "--language", "fr", "--dump", self.folder)
        self.assertEqual(answer["frames"], 40)
        # None on a machine at rest.
        self.assertEqual(answer["underruns"] == 0, answer["underrun_s"] == 0)
        self.assertGreaterEqual(answer["play_ms"], answer["first_audio_ms"])
        self.assert_dump_is("custom/french_vivian")
        shape, samples = read_array(self.folder / "wav.npy")
        expected = read_array(EXPECTED / "custom/decoder/wav.npy")[1]
        self.assertEqual(shape, (len(expected),))
        worst = max(abs(a - b) for a, b in zip(samples, expected, strict=True))
        self.assertLessEqual(worst, 1e-4 * max(map(abs, expected)))

    def say_slowly(self, text, *options):
        """The answer to a text whose words come every 0.1 seconds."""
        command = [program.PROGRAM, "say", "--voice", "custom:vivian", "-o", self.folder / "out.wav",
                   "--max-frames", "20", "--json", *options, "-"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env=self.environment()) as process:
            for word in text.split():
                time.sleep(0.1)
                process.stdin.write(f"{word} ".encode())
                process.stdin.flush()
            return json.loads(process.communicate()[0])

    def test_speech_begins_with_the_first_words(self):
        text = "Il fait beau ce matin et je vais me promener dans la ville, seul, sans manteau."
        whole = self.say_slowly(text)
        sound = (self.folder / "out.wav").read_bytes()
        early = self.say_slowly(text, "--stream")
        self.assertEqual((self.folder / "out.wav").read_bytes(), sound)
        self.assertGreater(whole["first_audio_ms"], 1000)
        self.assertLess(early["first_audio_ms"], whole["first_audio_ms"] - 500)

    def test_a_turn_is_answered_by_a_program(self):
        turn = self.lines_of("turn", "--stt", "listener", "--llm", "talker", "--voice",
                             "custom:vivian", "--max-tokens", "8", "-o", self.folder / "reply.wav",
                             program.ROOT / "examples/audio/mer_jaune.wav")[0]
        self.assertEqual(turn["transcript"], "Il neige")
        with wave.open(str(self.folder / "reply.wav")) as file:
            self.assertEqual(file.getframerate(), 24000)
            self.assertGreater(file.getnframes(), 24000)
            self.assertAlmostEqual(file.getnframes() / 24000, turn["audio_s"], 3)

    def test_the_cloning_options_are_the_reference(self):
        meta = json.loads((EXPECTED / "base/icl_streaming/meta.json").read_text())
        self.say("base", meta["text"], "--greedy", "--max-frames", "9", "--language", "french",
                 "--voice-vector", EXPECTED / "base/speaker/xvector.npy",
                 "--ref-codes", EXPECTED / "base/icl_ref_codes.npy",
                 "--ref-text", "Il est huit heures trente, le train part.", "--dump", self.folder)
        self.assert_dump_is("base/icl_streaming")

    def test_seeds_repeat(self):
        outputs = []
        for seed in ("1", "1", "2"):
            self.say("custom:ryan", "Bonjour.", "--seed", seed, "--max-frames", "5")
            outputs.append((self.folder / "out.wav").read_bytes())
        self.assertEqual(outputs[0], outputs[1])
        self.assertNotEqual(outputs[0], outputs[2])

    def test_codes_become_sound_in_any_chunks(self):
        outputs = []
        for chunk in ("1", "3", "8"):
            path = self.folder / "decoded.npy"
            self.assert_works("codec", "decode", EXPECTED / "base/decoder/codes.npy", "--model",
                              "base", "-o", path, "--chunk", chunk)
            outputs.append(read_array(path))
        self.assertEqual(outputs[0], outputs[1])
        self.assertEqual(outputs[0], outputs[2])

    def test_sound_becomes_codes(self):
        path = self.folder / "codes.npy"
        self.assert_works("codec", "encode", EXPECTED / "base/encoder/wav.npy", "--model", "base",
                          "-o", path)
        self.assertEqual(read_array(path), read_array(EXPECTED / "base/encoder/codes.npy"))

    def test_a_recording_becomes_a_voice(self):
        samples = read_array(EXPECTED / "base/speaker/wav.npy")[1]
        recording, voice = self.folder / "me.wav", self.folder / "me.kzv"
        with wave.open(str(recording), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(24000)
            file.writeframes(struct.pack(f"<{len(samples)}h", *(
                max(-32768, min(32767, round(32767 * sample))) for sample in samples)))
        self.assert_works("voice", "make", recording, "--text", "Bonjour.", "--model", "base",
                          "-o", voice)
        listed = self.lines_of("voice", "list", self.folder)
        speaking = {line["program"]: line for line in listed if "kind" in line}
        self.assertIn("vivian", speaking["custom.kzp"]["speakers"])
        self.assertNotIn("talker.kzp", speaking)
        self.assertEqual([(line["program"], line["text"], line["frames"] > 0) for line in listed
                          if line.get("voice") == "me.kzv"], [("base.kzp", "Bonjour.", True)])
        made = self.lines_of("voice", "make", recording, "--stt", "listener", "--model", "base",
                             "-o", voice)[0]
        self.assertEqual((made["text"], made["frames"] > 0), ("Il neige", True))
        self.assertEqual(self.say("base", "Merci.", "--clone", voice, "--max-frames",
                                  "3")["frames"], 3)
        self.assert_fails(1, "is a voice of program", "say", "--voice", "custom", "--clone", voice,
                          "-o", self.folder / "out.wav", "Merci.")

    def test_voices_are_listed_without_a_program(self):
        folder = self.folder / "some"
        folder.mkdir()
        (folder / "broken.kzv").write_text("{}")
        self.assertIn("is no voice file", self.lines_of("voice", "list", folder)[0]["error"])
        self.assert_fails(1, "cannot list", "voice", "list", folder / "none")
        self.assert_fails(1, "needs --model", "voice", "make", "me.wav")
        self.assert_fails(1, "needs a recording", "voice", "vector", "--model", "base")

    def changed_voice(self, name, file, before, after):
        """A copy of the base voice in which bytes of one file are others."""
        folder = self.folder / name
        shutil.copytree(GOLDEN / "base", folder)
        data = (folder / file).read_bytes()
        self.assertIn(before, data)
        (folder / file).write_bytes(data.replace(before, after, 1))
        return folder

    def test_damaged_voices_are_refused(self):
        out = self.folder / "damaged.kzp"
        cases = (
            ("missing", "model.safetensors", b"talker.codec_head.weight", b"talker.codec_tail.weight",
             "talker.codec_head.weight"),
            ("left", "speech_tokenizer/model.safetensors", b"encoder.quantizer.acoustic_residual_"
             b"vector_quantizer.output_proj.weight", b"encoder.amplifier.acoustic_residual_vector_"
             b"quantizer.output_proj.weight", "has no place"),
            ("ids", "config.json", b'"codec_eos_token_id": 166', b'"codec_eos_token_id": 999999',
             "codec_eos_token_id"),
            ("rate", "speech_tokenizer/config.json", b'"decode_upsample_rate": 192',
             b'"decode_upsample_rate": 191', "decode_upsample_rate"),
            ("width", "config.json", b'"hidden_size": 64', b'"hidden_size": 96', "expected"))
        for name, file, before, after, words in cases:
            folder = self.changed_voice(name, file, before, after)
            result = self.run_program("export", folder, "-o", out)
            self.assertEqual(result.returncode, 2, (name, result.stderr))
            self.assertIn(words, result.stderr)
            self.assertFalse(out.exists())

    def test_another_models_tokenizer_is_refused(self):
        out = self.folder / "words.kzp"
        folder = self.changed_voice("words", "config.json", b'"assistant_token_id": 266',
                                    b'"assistant_token_id": 265')
        self.assert_fails(2, "the tokenizer of another model", "export", folder, "-o", out)
        shutil.copy(program.ROOT / "tests/golden/qwen3/bf16-untied/tokenizer.json", folder)
        self.assert_fails(2, "expected '<|im_start|>'", "export", folder, "-o", out)
        for name in ("tokenizer.json", "vocab.json", "merges.txt"):
            (folder / name).unlink()
        self.assert_fails(2, "without tokenizer files", "export", folder, "-o", out)
        self.assertFalse(out.exists())

    def test_voices_that_do_not_end_are_ended(self):
        # Random weights never say the end.
        answer = self.say("custom:ryan", "Oui.")
        self.assertEqual((answer["length_ends"], answer["silence_ends"]), (1, 0))
        self.assertGreater(answer["frames"], 50)
        folder = self.folder / "mute"
        shutil.copytree(GOLDEN / "custom", folder)
        path = folder / "speech_tokenizer/model.safetensors"
        data = bytearray(path.read_bytes())
        length = struct.unpack("<Q", data[:8])[0]
        for name, tensor in json.loads(data[8:8 + length]).items():
            if name.startswith("decoder.decoder.6.conv."):
                start, end = (8 + length + offset for offset in tensor["data_offsets"])
                data[start:end] = bytes(end - start)
        path.write_bytes(data)
        self.assert_works("export", folder, "--weights", "f32", "-o", self.folder / "mute.kzp")
        answer = self.say("mute:ryan", "Une phrase qui devrait durer bien plus de trois secondes.")
        self.assertEqual((answer["length_ends"], answer["silence_ends"]), (0, 1))

    def test_refusals(self):
        out = self.folder / "out.wav"
        self.assert_fails(1, "vivian", "say", "--voice", "custom:nobody", "-o", out, "Merci.")
        self.assert_fails(1, "french", "say", "--voice", "custom", "--language", "xx", "-o", out,
                          "Merci.")
        self.assert_fails(2, "is no NumPy array", "codec", "decode", __file__,
                          "--model", "base", "-o", out)


if __name__ == "__main__":
    unittest.main()
