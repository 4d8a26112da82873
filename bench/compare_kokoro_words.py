#!/usr/bin/env python3
"""How well a recogniser understands our Kokoro, beside onnxruntime's sound of the same phonemes.

In: our program and model, the ONNX file and the speaker's file that it was exported from, a recogniser,
sentences a line each. Out: word errors of both, the difference in points, and the sentences that differ.

Our voice says each sentence and tells the symbols that it read (--dump); onnxruntime says those. Both
sounds lose their outer silence, are heard by the same recogniser, and all texts are compared as words
that are spoken, so that "14 h" and "quatorze heures" are the same. Needs numpy and onnxruntime.
"""
import argparse
import json
import pathlib
import re
import subprocess
import tempfile
import wave

import numpy
import onnxruntime

RATE_HZ = 24000
SILENCE = 0.004  # of full scale
ROLL = RATE_HZ * 40 // 1000
PAUSE = RATE_HZ * 350 // 1000  # between the pieces of a long sentence


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--kazeia", default="build/release/kazeia", metavar="PROGRAM")
    parser.add_argument("--model", default="kokoro", metavar="MODEL")
    parser.add_argument("--speaker", default="ff_siwis", metavar="NAME")
    parser.add_argument("--language", default="fr", metavar="CODE")
    parser.add_argument("--stt", default="whisper-base", metavar="MODEL")
    parser.add_argument("--onnx", required=True, metavar="FILE", help="what the model was exported from")
    parser.add_argument("--style", required=True, metavar="FILE", help="the speaker's .bin file")
    parser.add_argument("--threads", default="2", metavar="N")
    parser.add_argument("--keep", metavar="DIR", help="leave the sounds there")
    parser.add_argument("texts", metavar="TEXTS", help="sentences, one a line")
    return parser.parse_args()


def run(command, lines=None):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE,
                          input=lines, text=True).stdout


def write_sound(path, samples):
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(RATE_HZ)
        out.writeframes((numpy.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())


def trim(samples):
    loud = numpy.flatnonzero(numpy.abs(samples) > SILENCE)
    return samples[max(0, loud[0] - ROLL):loud[-1] + ROLL] if len(loud) else samples[:0]


class Peer:
    """onnxruntime with one speaker's style, whose row goes by the number of symbols."""

    def __init__(self, arguments):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = int(arguments.threads)
        self.session = onnxruntime.InferenceSession(arguments.onnx, options,
                                                    providers=["CPUExecutionProvider"])
        self.rows = numpy.fromfile(arguments.style, numpy.float32).reshape(-1, 256)
        self.names = [given.name for given in self.session.get_inputs()]

    def say_piece(self, ids):
        row = self.rows[min(len(ids), len(self.rows)) - 1]
        values = [numpy.array([[0, *ids, 0]], numpy.int64), row.reshape(1, 256),
                  numpy.ones(1, numpy.float32)]
        return trim(self.session.run(None, dict(zip(self.names, values)))[0].ravel())

    def say(self, pieces):
        sounds = []
        for ids in pieces:
            sounds += [self.say_piece(ids), numpy.zeros(PAUSE, numpy.float32)]
        return numpy.concatenate(sounds[:-1])


def say_ours(arguments, sentence, target, folder):
    """Writes our sound; returns the symbols of its pieces."""
    run([arguments.kazeia, "say", "--voice", f"{arguments.model}:{arguments.speaker}", "--language",
         arguments.language, "--threads", arguments.threads, "--dump", folder, "-o", target, "--json",
         sentence])
    symbols = numpy.load(folder / "symbols.npy")
    ends = [*numpy.flatnonzero(symbols == 0), len(symbols)]
    starts = [0, *(end + 1 for end in ends[:-1])]
    return [symbols[start:end].tolist() for start, end in zip(starts, ends)]


def words_of(arguments, texts):
    """Each text as a list of words that are spoken, without marks."""
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    spoken = run([arguments.kazeia, "spoken", "--language", arguments.language, "--json"], lines)
    return [re.findall(r"\w+", json.loads(line).lower()) for line in spoken.splitlines()]


def count_edits(said, heard):
    row = list(range(len(heard) + 1))
    for i, word in enumerate(said, 1):
        previous, row[0] = row[0], i
        for j, other in enumerate(heard, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (word != other))
    return row[-1]


def hear(arguments, files):
    lines = run([arguments.kazeia, "transcribe", "--model", arguments.stt, "--language",
                 arguments.language, "--threads", arguments.threads, "--json", *files])
    texts = {entry["file"]: entry["text"] for entry in map(json.loads, lines.splitlines())}
    return [texts[str(file)] for file in files]


def compare(arguments, folder):
    sentences = [line for line in pathlib.Path(arguments.texts).read_text().splitlines() if line.strip()]
    peer = Peer(arguments)
    files = {side: [folder / f"{side}-{i:02}.wav" for i in range(len(sentences))]
             for side in ("kazeia", "onnxruntime")}
    for i, sentence in enumerate(sentences):
        pieces = say_ours(arguments, sentence, files["kazeia"][i], folder)
        write_sound(files["onnxruntime"][i], peer.say(pieces))
    said = words_of(arguments, sentences)
    total = sum(map(len, said))
    rates, edits = {}, {}
    for side, names in files.items():
        heard = hear(arguments, names)
        edits[side] = [count_edits(*pair) for pair in zip(said, words_of(arguments, heard))]
        rates[side] = 100 * sum(edits[side]) / total
        print(f"{side:12} {sum(edits[side]):4} errors in {total} words: {rates[side]:.2f} %")
        for sentence, text, count in zip(sentences, heard, edits[side]):
            if count:
                print(f"    {count}: {sentence}\n       {text}")
    print(f"difference: {rates['kazeia'] - rates['onnxruntime']:+.2f} points")


def main():
    arguments = parse_arguments()
    if arguments.keep:
        pathlib.Path(arguments.keep).mkdir(parents=True, exist_ok=True)
        compare(arguments, pathlib.Path(arguments.keep))
        return
    with tempfile.TemporaryDirectory() as folder:
        compare(arguments, pathlib.Path(folder))


main()
