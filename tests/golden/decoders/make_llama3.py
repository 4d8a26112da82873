"""Makes the checkpoints of llama3-tiny from those of tests/golden/llama/bf16.

The same weights, with Llama 3's scaling of positions: a Hugging Face folder that states it by its
four numbers, and GGUF files that state it by a tensor of factors (rows of q and k in GGUF's order).
The F32 file is what llama.cpp computes the expected logits of; it is not kept.
    python make_llama3.py tests/golden/llama/bf16 OUT_FOLDER
"""
import json
import math
import pathlib
import shutil
import struct
import sys

import gguf
import numpy as np

SCALING = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
           "original_max_position_embeddings": 128}


def read_safetensors(path):
    whole = path.read_bytes()
    size = struct.unpack("<Q", whole[:8])[0]
    for name, entry in json.loads(whole[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            bits = np.frombuffer(whole[begin:end], np.uint16).reshape(entry["shape"])
            yield name, bits


def factors(config):
    """By which each frequency is divided."""
    half = config["head_dim"] // 2
    context = SCALING["original_max_position_embeddings"]
    for i in range(half):
        wavelength = 2 * math.pi * config["rope_theta"] ** (i / half)
        low, high = (context / SCALING[key] for key in ("low_freq_factor", "high_freq_factor"))
        if wavelength < high:
            yield 1.0
        elif wavelength > low:
            yield SCALING["factor"]
        else:
            share = (context / wavelength - SCALING["low_freq_factor"]) / (
                SCALING["high_freq_factor"] - SCALING["low_freq_factor"])
            yield 1.0 / ((1.0 - share) / SCALING["factor"] + share)


NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "input_layernorm": "attn_norm",
         "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
         "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
         "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}


def gguf_name(name):
    parts = name.removesuffix(".weight").split(".")
    if parts[1] == "layers":
        return f"blk.{parts[2]}.{NAMES['.'.join(parts[3:])]}.weight"
    return NAMES[".".join(parts)] + ".weight"


def in_gguf_order(name, bits, config):
    """HF row (head, half, j) is GGUF row (head, j, half)."""
    if ".q_proj" in name or ".k_proj" in name:
        head = config["head_dim"]
        return bits.reshape(-1, 2, head // 2, bits.shape[1]).swapaxes(1, 2).reshape(bits.shape)
    return bits


def add_keys(writer, config):
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("none")


def write_gguf(path, folder, config, is_wide):
    writer = gguf.GGUFWriter(path, "llama")
    add_keys(writer, config)
    writer.add_tensor("rope_freqs.weight", np.array(list(factors(config)), np.float32))
    for name, bits in read_safetensors(folder / "model.safetensors"):
        bits = in_gguf_order(name, bits, config)
        if is_wide or bits.ndim == 1:
            writer.add_tensor(gguf_name(name), (bits.astype(np.uint32) << 16).view(np.float32))
        else:
            writer.add_tensor(gguf_name(name), np.ascontiguousarray(bits).view(np.uint8),
                              raw_dtype=gguf.GGMLQuantizationType.BF16)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    source, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    config = json.loads((source / "config.json").read_text())
    config["rope_scaling"] = SCALING
    (out / "llama3-tiny" / "bf16").mkdir(parents=True, exist_ok=True)
    shutil.copy(source / "model.safetensors", out / "llama3-tiny" / "bf16")
    (out / "llama3-tiny" / "bf16" / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    write_gguf(out / "llama3-tiny-F32.gguf", source, config, True)
    (out / "gguf").mkdir(exist_ok=True)
    write_gguf(out / "gguf" / "llama3-tiny-BF16.gguf", source, config, False)


main()
