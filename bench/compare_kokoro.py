#!/usr/bin/env python3
"""Kokoro beside onnxruntime on the same ONNX file: durations, sound, and speed.

In: our program (exported with --weights f32 for the sound, q8 for speed), the ONNX file, a speaker's
file, vocab.json, sentences a line each, and kokoro_lines (built on request: ninja kokoro_lines). Out: how
many durations are equal; with the peer's durations imposed, the mean difference of 80-band log-mel
spectra in dB between our sound and the peer's, and between the peer and itself with every integer node
replaced by a float one; processor and wall seconds of both, interleaved.

Phonemes come from libespeak-ng. Needs numpy, onnx and onnxruntime.
"""
import argparse
import ctypes
import json
import os
import pathlib
import statistics
import struct
import subprocess
import time

import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper

RATE_HZ = 24000
DURATIONS = "/encoder/Clip_output_0"
WINDOW, STEP, BANDS = 1024, 256, 80


# ---- phonemes ---------------------------------------------------------------------------------

class Phonemes:
    """Ids of a sentence, as the model's own tools make them from espeak-ng's IPA."""

    def __init__(self, language, vocabulary):
        self.library = ctypes.CDLL("libespeak-ng.so.1")
        self.library.espeak_Initialize(1, 0, None, 0)
        self.library.espeak_TextToPhonemes.restype = ctypes.c_char_p
        self.library.espeak_SetVoiceByName(language.encode())
        self.vocabulary = vocabulary

    def ids(self, text):
        rest = ctypes.c_char_p(text.encode())
        clauses = []
        while rest.value is not None:
            clauses.append(self.library.espeak_TextToPhonemes(ctypes.byref(rest), 1, 2).decode())
        end = text[-1] if text[-1] in ".?!" else ""
        return [self.vocabulary[c] for c in " ".join(clauses).strip() + end if c in self.vocabulary]


# ---- the peer ---------------------------------------------------------------------------------

def open_session(model, threads=1):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    source = model if isinstance(model, str) else model.SerializeToString()
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def with_output(path):
    model = onnx.load(path)
    model.graph.output.append(onnx.ValueInfoProto(name=DURATIONS))
    return model


def with_input(model):
    """The durations are given instead of computed."""
    graph = model.graph
    for node in list(graph.node):
        if DURATIONS in node.output:
            graph.node.remove(node)
    graph.input.append(helper.make_tensor_value_info(DURATIONS, onnx.TensorProto.FLOAT, [1, "n"]))
    return model


class Floats:
    """Replaces integer nodes by float ones with the same weights."""

    def __init__(self, path):
        self.model = onnx.load(path)
        self.graph = self.model.graph
        self.values = {tensor.name: tensor for tensor in self.graph.initializer}
        self.makers = {name: node for node in self.graph.node for name in node.output}
        self.users = {}
        for node in self.graph.node:
            for name in node.input:
                self.users.setdefault(name, []).append(node)
        self.added = {}

    def value(self, name):
        return numpy_helper.to_array(self.values[name])

    def weight(self, name, scale, zero, axes=()):
        """The initialiser of integers `name` as floats; the name of the new one."""
        floats = name + "_as_floats"
        if floats not in self.added:
            whole = self.value(name).astype(numpy.float32)
            factor, offset = self.value(scale), self.value(zero).astype(numpy.float32)
            shape = axes and (-1, *axes) or factor.shape
            made = ((whole - offset.reshape(shape)) * factor.reshape(shape)).astype(numpy.float32)
            if axes:
                made = numpy.ascontiguousarray(made.transpose(0, 2, 1))
            self.added[floats] = numpy_helper.from_array(made, floats)
        return floats

    def product(self, node):
        """The float node for MatMulInteger or ConvInteger, in place of the Mul that ends its chain."""
        stem = node.input[1][:-len("_quantized")]
        inputs = [self.makers[node.input[0]].input[0],
                  self.weight(node.input[1], stem + "_scale", node.input[3])]
        after = self.users[node.output[0]][0]
        if after.op_type == "Add":  # a bias in integers: reshaped, cast, floored, divided
            name = next(name for name in after.input if name != node.output[0])
            for _ in range(4):
                name = self.makers[name].input[0]
            inputs.append(name)
            after = self.users[after.output[0]][0]
        end = self.users[after.output[0]][0]
        kind = "MatMul" if node.op_type == "MatMulInteger" else "Conv"
        made = helper.make_node(kind, inputs, [end.output[0]], node.name + "_as_floats")
        made.attribute.extend(node.attribute)
        return end.output[0], made

    def lstm(self, node):
        weights = [self.weight(node.input[i], node.input[8 + 2 * (i - 1)],
                               node.input[9 + 2 * (i - 1)], (1, 1)) for i in (1, 2)]
        made = helper.make_node("LSTM", [node.input[0], *weights, *node.input[3:7]], node.output)
        made.attribute.extend(node.attribute)
        return made

    def make(self):
        products = dict(self.product(node) for node in self.graph.node
                        if node.op_type in ("MatMulInteger", "ConvInteger"))
        nodes = [self.lstm(node) if node.op_type == "DynamicQuantizeLSTM"
                 else products.get(node.output[0], node) for node in self.graph.node]
        wanted = {tensor.name for tensor in self.graph.output}
        while True:  # what nothing reads any more
            used = wanted | {name for node in nodes for name in node.input}
            kept = [node for node in nodes if any(name in used for name in node.output)]
            if len(kept) == len(nodes):
                break
            nodes = kept
        tensors = [*self.graph.initializer, *self.added.values()]
        del self.graph.node[:], self.graph.initializer[:]
        self.graph.node.extend(nodes)
        self.graph.initializer.extend(tensor for tensor in tensors if tensor.name in used)
        return self.model


def feed(ids, styles):
    row = min(len(ids), len(styles)) - 1
    return {"tokens": numpy.array([[0, *ids, 0]]), "style": styles[row:row + 1],
            "speed": numpy.ones(1, numpy.float32)}


# ---- distances --------------------------------------------------------------------------------

def mel_filters():
    def to_mel(hz):
        return 2595 * numpy.log10(1 + hz / 700)

    edges = 700 * (10 ** (numpy.linspace(0, to_mel(RATE_HZ / 2), BANDS + 2) / 2595) - 1)
    bins = numpy.arange(WINDOW // 2 + 1) * RATE_HZ / WINDOW
    rising = (bins - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - bins) / (edges[2:] - edges[1:-1])[:, None]
    return numpy.maximum(0, numpy.minimum(rising, falling))


FILTERS = mel_filters()


def log_mel(samples):
    padded = numpy.pad(samples.astype(numpy.float64), WINDOW // 2)
    frames = numpy.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::STEP]
    power = numpy.abs(numpy.fft.rfft(frames * numpy.hanning(WINDOW + 1)[:-1], axis=1)) ** 2
    return 10 * numpy.log10(numpy.maximum(power @ FILTERS.T, 1e-8))


def difference(left, right):
    count = min(len(left), len(right))
    return numpy.abs(log_mel(left[:count]) - log_mel(right[:count])).mean()


# ---- ours -------------------------------------------------------------------------------------

def run_lines(arguments, program, lines, threads):
    """For each line its durations and samples; processor seconds without opening."""
    result = subprocess.run([arguments.lines, program, pathlib.Path(arguments.style).stem,
                             str(threads)], input=("\n".join(lines) + "\n").encode(),
                            capture_output=True, check=False)
    if result.returncode:
        raise SystemExit(result.stderr.decode())
    out, at, found = result.stdout, 0, []
    for _ in lines:
        parts = []
        for kind in (numpy.int32, numpy.float32):
            count, = struct.unpack_from("<I", out, at)
            parts.append(numpy.frombuffer(out, kind, count, at + 4))
            at += 4 + 4 * count
        found.append(parts)
    return found, float(result.stderr)


# ---- the command ------------------------------------------------------------------------------

def compare_sound(arguments, pieces, styles):
    whole = open_session(with_output(arguments.onnx))
    peers, lines = [], []
    for ids in pieces:
        sound, durations = whole.run(None, feed(ids, styles))
        peers.append((sound, durations))
        lines.append(" ".join(map(str, ids)) + " | " +
                     " ".join(str(int(d)) for d in durations.ravel()))
    del whole
    floats = open_session(with_input(Floats(arguments.onnx).make()))
    ours, _ = run_lines(arguments, arguments.program, lines, 2)
    own, beside, equal, count = [], [], 0, 0
    for ids, (sound, durations), (found, samples) in zip(pieces, peers, ours):
        equal += int((found == durations.ravel()).sum())
        count += len(found)
        own.append(difference(sound, samples))
        reference, = floats.run(None, {**feed(ids, styles), DURATIONS: durations})
        beside.append(difference(sound, reference))
    print(f"durations equal: {equal} of {count}, {100 * equal / count:.2f} %")
    print(f"log-mel, peer's durations: ours {statistics.mean(own):.3f} dB, the peer in floats "
          f"{statistics.mean(beside):.3f} dB: {statistics.mean(own) / statistics.mean(beside):.3f}")


def compare_speed(arguments, pieces, styles):
    peer = open_session(arguments.onnx, arguments.threads)
    lines = [" ".join(map(str, ids)) for ids in pieces]
    rows = []
    for _ in range(arguments.rounds):
        begin, cpu = time.perf_counter(), os.times().user
        samples = sum(len(peer.run(None, feed(ids, styles))[0]) for ids in pieces)
        theirs = time.perf_counter() - begin, os.times().user - cpu
        begin = time.perf_counter()
        _, processor = run_lines(arguments, arguments.speed, lines, arguments.threads)
        rows.append((*theirs, time.perf_counter() - begin, processor, samples / RATE_HZ))
    wall, cpu, own_wall, own_cpu, seconds = (statistics.median(c) for c in zip(*rows))
    print(f"{arguments.threads} threads, {seconds:.1f} s of sound: peer {wall:.2f} s (processor "
          f"{cpu:.2f}), ours with opening {own_wall:.2f} s (processor {own_cpu:.2f}): "
          f"{wall / own_wall:.2f} times as fast, processor {cpu / own_cpu:.2f} times")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--lines", default="build/release/kokoro_lines", metavar="PROGRAM")
    parser.add_argument("--program", metavar="FILE", help="for durations and sound, in f32")
    parser.add_argument("--speed", metavar="FILE", help="for speed, in q8")
    parser.add_argument("--onnx", required=True, metavar="FILE")
    parser.add_argument("--style", required=True, metavar="FILE", help="voices/NAME.bin")
    parser.add_argument("--vocabulary", required=True, metavar="FILE", help="vocab.json")
    parser.add_argument("--language", default="fr", help="espeak-ng's voice")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("texts", metavar="TEXTS", help="sentences, one a line")
    arguments = parser.parse_args()
    vocabulary = json.loads(pathlib.Path(arguments.vocabulary).read_text(encoding="utf-8"))["vocab"]
    styles = numpy.fromfile(arguments.style, numpy.float32).reshape(-1, 256)
    phonemes = Phonemes(arguments.language, vocabulary)
    texts = pathlib.Path(arguments.texts).read_text(encoding="utf-8").splitlines()
    pieces = [phonemes.ids(text) for text in texts if text]
    if arguments.program:
        compare_sound(arguments, pieces, styles)
    if arguments.speed:
        compare_speed(arguments, pieces, styles)


if __name__ == "__main__":
    main()
