#!/usr/bin/env python3
"""Makes the goldens of this folder from the pinned model: see README.md.

In: the folder of the model as scripts/fetch-models leaves it. Out: NAME.ids, NAME.durations (i32) and
NAME.samples (i16, full scale 32767) for each sentence.
"""
import pathlib
import sys

import numpy
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bench"))
import compare_kokoro as kokoro  # noqa: E402

SENTENCES = {"bonjour": ("fr", "ff_siwis", "Bonjour."), "hello": ("en-us", "af_heart", "Hello.")}


def main():
    folder, here = pathlib.Path(sys.argv[1]), pathlib.Path(__file__).resolve().parent
    vocabulary = kokoro.json.loads((folder / "vocab.json").read_text(encoding="utf-8"))["vocab"]
    path = str(folder / "kokoro.onnx")
    whole = kokoro.open_session(kokoro.with_output(path))
    floats = kokoro.open_session(kokoro.with_input(kokoro.Floats(path).make()))
    for name, (language, speaker, text) in SENTENCES.items():
        ids = kokoro.Phonemes(language, vocabulary).ids(text)
        styles = numpy.fromfile(folder / "voices" / f"{speaker}.bin", numpy.float32).reshape(-1, 256)
        _, durations = whole.run(None, kokoro.feed(ids, styles))
        sound, = floats.run(None, {**kokoro.feed(ids, styles), kokoro.DURATIONS: durations})
        numpy.array(ids, "<i4").tofile(here / f"{name}.ids")
        durations.ravel().astype("<i4").tofile(here / f"{name}.durations")
        (sound * 32767).round().astype("<i2").tofile(here / f"{name}.samples")
        print(name, len(ids), int(durations.sum()), onnxruntime.__version__)


if __name__ == "__main__":
    main()
