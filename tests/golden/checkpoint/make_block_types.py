"""Writes block-types.gguf and block-types.TENSOR.npy: random blocks and what gguf-py reads in them.

Bits are random, so that every place of a scale, a high bit and a nibble is met; only the f16 scales are
kept finite. One tensor is of a type that the exporter does not read.
"""
import numpy as np
from gguf import GGMLQuantizationType as Type, GGUFWriter, GGML_QUANT_SIZES, dequantize

ROWS = 4
# type, columns, first byte of each f16 in a block
CASES = [
    (Type.Q5_0, 96, [0]),
    (Type.Q5_1, 96, [0, 2]),
    (Type.IQ4_NL, 96, [0]),
    (Type.Q4_K, 512, [0, 2]),
    (Type.Q5_K, 512, [0, 2]),
    (Type.Q6_K, 512, [208]),
    (Type.Q3_K, 256, [108]),
]

random = np.random.default_rng(20)
writer = GGUFWriter("block-types.gguf", "llama")
for kind, columns, halves in CASES:
    elements, size = GGML_QUANT_SIZES[kind]
    blocks = random.integers(0, 256, (ROWS, columns // elements, size), dtype=np.uint8)
    for place in halves:
        scale = random.normal(0, 0.01, blocks.shape[:2]).astype(np.float16)
        blocks[:, :, place : place + 2] = scale[..., None].view(np.uint8)
    rows = blocks.reshape(ROWS, -1)
    writer.add_tensor(kind.name.lower(), rows, raw_dtype=kind)
    if kind != Type.Q3_K:
        np.save(f"block-types.{kind.name.lower()}.npy", dequantize(rows, kind).astype("<f4").reshape(-1))
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
