#!/usr/bin/env python3
"""Writes expected.json: the probabilities that the silero-vad package's own network gives.

In: the folder silero_vad of PyPI silero-vad (its class TinySileroVAD, its weights); the clips of
tests/golden/speech. Out: expected.json. Needs numpy, soundfile and tinygrad. Run from the repository's
root: make.py PATH/TO/silero_vad
"""
import json
import pathlib
import sys

import numpy
import soundfile
from tinygrad import Tensor
from tinygrad.nn.state import load_state_dict, safe_load

WINDOW, CONTEXT = 512, 64
HERE = pathlib.Path(__file__).resolve().parent


def read(path):
    samples, rate = soundfile.read(path, dtype="float32")
    assert rate == 16000 and samples.ndim == 1
    return numpy.pad(samples, (CONTEXT, -len(samples) % WINDOW))


def probabilities(model, clips):
    """One for each window; the last one is filled up with silence. All clips are one batch."""
    longest = max(map(len, clips))
    batch = numpy.stack([numpy.pad(clip, (0, longest - len(clip))) for clip in clips])
    found, state = [], None
    for at in range(0, longest - CONTEXT, WINDOW):
        output, state = model(Tensor(numpy.ascontiguousarray(batch[:, at:at + CONTEXT + WINDOW])), state)
        state = state.realize()
        found.append(output.numpy()[:, 0])
    rows = numpy.stack(found, 1)
    return [row[:(len(clip) - CONTEXT) // WINDOW] for row, clip in zip(rows, clips)]


def main():
    package = pathlib.Path(sys.argv[1])
    # Not the package itself, which wants torch.
    sys.path.insert(0, str(package))
    from tinygrad_model import TinySileroVAD
    model = TinySileroVAD()
    load_state_dict(model, safe_load(package / "data/silero_vad_16k.safetensors"))
    paths = sorted(pathlib.Path("tests/golden/speech").rglob("*.wav"))
    rows = probabilities(model, [read(path) for path in paths])
    clips = [json.dumps({"file": path.as_posix(), "has_speech": "noise" not in path.stem,
                         "probabilities": [round(float(value), 7) for value in row]},
                        ensure_ascii=False) for path, row in zip(paths, rows)]
    (HERE / "expected.json").write_text('{"clips": [\n' + ",\n".join(clips) + "\n]}\n")


main()
