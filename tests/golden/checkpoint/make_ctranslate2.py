#!/usr/bin/env python3
"""Writes the tiny CTranslate2 folders of this folder with CTranslate2's own model writer.

    make_ctranslate2.py OUT_FOLDER

Whisper's specification of one layer a side with random weights (seed 7), saved as CTranslate2's
converter does, once for each kind of weights; and row 3 of two matrices, decoded by numpy from the
arrays that were saved. Needs ctranslate2 and numpy.
"""
import pathlib
import sys

import ctranslate2
import numpy as np

WIDTH, INNER, WORDS, MELS = 32, 64, 40, 8
ROWS = ("decoder/embeddings/weight", "encoder/layer_0/self_attention/linear_0/weight")


def shape_of(name):
    kind = name.rsplit("/", 2)
    if "conv" in name:
        width = MELS if "conv1" in name else WIDTH
        return (WIDTH, width, 3) if name.endswith("weight") else (WIDTH,)
    if name.endswith("encodings"):
        return (16, WIDTH)
    if kind[-2] == "layer_norm":
        return (WIDTH,)
    if kind[-2] in ("embeddings", "projection", "embeddings_0"):
        return (WORDS, WIDTH) if name.endswith("weight") else (WORDS,)
    rows = {("self_attention", "linear_0"): 3 * WIDTH, ("self_attention", "linear_1"): WIDTH,
            ("attention", "linear_0"): WIDTH, ("attention", "linear_1"): 2 * WIDTH,
            ("attention", "linear_2"): WIDTH, ("ffn", "linear_0"): INNER,
            ("ffn", "linear_1"): WIDTH}[kind[0].rsplit("/", 1)[-1], kind[1]]
    columns = INNER if kind[0].endswith("ffn") and kind[1] == "linear_1" else WIDTH
    return (rows, columns) if name.endswith("weight") else (rows,)


def fill(spec):
    random = np.random.default_rng(7)

    def walk(layer, path):
        for name, value in list(vars(layer).items()):
            full = f"{path}/{name}" if path else name
            if isinstance(value, ctranslate2.specs.LayerSpec):
                walk(value, full)
            elif isinstance(value, list):
                for i, item in enumerate(value):
                    if isinstance(item, ctranslate2.specs.LayerSpec):
                        walk(item, f"{full}_{i}")
            elif value is None:
                setattr(layer, name, random.standard_normal(shape_of(full), dtype=np.float32))

    walk(spec, "")


def decoded_row(variables, name):
    value = variables[name].numpy() if hasattr(variables[name], "numpy") else variables[name]
    row = value[3].astype(np.float32)
    if value.dtype == np.int8:
        row /= variables[name + "_scale"].numpy()[3]
    return row


def main(out):
    for quantization in ("float16", "int8"):
        folder = pathlib.Path(out) / f"ctranslate2-{quantization}"
        folder.mkdir(exist_ok=True)
        spec = ctranslate2.specs.WhisperSpec(1, 2, 1, 2)
        fill(spec)
        spec.register_vocabulary([f"w{i}" for i in range(WORDS)])
        spec.validate()
        spec.optimize(quantization=quantization)
        spec.save(str(folder))
        with open(folder / "vocabulary.json", "a", encoding="utf-8") as file:
            file.write("\n")
        variables = spec.variables()
        for name in ROWS:
            row = decoded_row(variables, name)
            np.save(folder / f"row3.{name.replace('/', '.')}.npy", row)


main(sys.argv[1])
