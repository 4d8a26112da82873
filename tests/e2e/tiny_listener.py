"""A Whisper of a few hundred kilobytes that hears the same sentence in every sound.

In: a folder, a text, perhaps letters that are nearly heard in place of others. Out: in it, config.json, generation_config.json, tokenizer.json and
model.safetensors as Hugging Face lays them out: one layer each side, width 32, the 256 bytes as
vocabulary, two languages.

The decoder's layers are zero, so that what comes next depends on the position alone: the embedding of
each position is that of the token that shall follow. The encoder's weights are from a fixed seed, and
nobody listens to it.
"""
import array
import json
import math
import pathlib
import random
import struct
import sys

from tiny_model import byte_letters

WIDTH, MLP, HEADS, MELS, POSITIONS, CONTEXT = 32, 64, 2, 80, 1500, 448
SHARPNESS, NEARER, SEED = 2.0, 1.0, 11
SPECIAL = ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|fr|>", "<|translate|>",
           "<|transcribe|>", "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>",
           "<|0.00|>", "<|0.02|>"]
ID = {name: 256 + i for i, name in enumerate(SPECIAL)}
VOCABULARY = 256 + len(SPECIAL)


def attention(part):
    for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
        yield f"{part}.{name}.weight", (WIDTH, WIDTH)
        if name != "k_proj":
            yield f"{part}.{name}.bias", (WIDTH,)


def norm(part):
    yield f"{part}.weight", (WIDTH,)
    yield f"{part}.bias", (WIDTH,)


def linear(part, rows, columns):
    yield f"{part}.weight", (rows, columns)
    yield f"{part}.bias", (rows,)


def layer(side, has_cross):
    part = f"model.{side}.layers.0."
    yield from norm(part + "self_attn_layer_norm")
    yield from attention(part + "self_attn")
    if has_cross:
        yield from norm(part + "encoder_attn_layer_norm")
        yield from attention(part + "encoder_attn")
    yield from norm(part + "final_layer_norm")
    yield from linear(part + "fc1", MLP, WIDTH)
    yield from linear(part + "fc2", WIDTH, MLP)


def shapes():
    yield "model.encoder.conv1.weight", (WIDTH, MELS, 3)
    yield "model.encoder.conv1.bias", (WIDTH,)
    yield "model.encoder.conv2.weight", (WIDTH, WIDTH, 3)
    yield "model.encoder.conv2.bias", (WIDTH,)
    yield "model.encoder.embed_positions.weight", (POSITIONS, WIDTH)
    yield from layer("encoder", False)
    yield from norm("model.encoder.layer_norm")
    yield "model.decoder.embed_tokens.weight", (VOCABULARY, WIDTH)
    yield "model.decoder.embed_positions.weight", (CONTEXT, WIDTH)
    yield from layer("decoder", True)
    yield from norm("model.decoder.layer_norm")


def count_of(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def script(text):
    """The token that follows each position: the prompt's own, then the text, then the end."""
    prompt = ["<|fr|>", "<|transcribe|>", "<|notimestamps|>"]
    return [ID[name] for name in prompt] + list(text.encode()) + [ID["<|endoftext|>"]]


def words(numbers):
    """A vector of +1 and -1 for each token: any two are nearly at right angles."""
    return [[numbers.choice((-1.0, 1.0)) for _ in range(WIDTH)] for _ in range(VOCABULARY)]


def logits(vectors, place, before):
    """What the decoder makes of a place behind a token: their sum, its norm, every token's product."""
    state = [8 * value + own for value, own in zip(place, vectors[before])]
    mean = sum(state) / WIDTH
    deviation = (sum((value - mean) ** 2 for value in state) / WIDTH) ** 0.5
    normed = [SHARPNESS * (value - mean) / deviation for value in state]
    return [sum(a * b for a, b in zip(normed, vector)) for vector in vectors]


def tie(vectors, before, first, others):
    """A place behind which `first` is a little likelier than each of `others`, which are equal."""
    tokens = [first, *others]
    shares = [1.0] * len(tokens)
    for _ in range(400):
        place = [sum(share * vectors[token][i] for share, token in zip(shares, tokens))
                 for i in range(WIDTH)]
        found = [logits(vectors, place, before)[token] for token in tokens]
        wanted = [NEARER] + [0.0] * len(others)
        level = (sum(found) - sum(wanted)) / len(tokens)
        shares = [share - 0.003 * (one - want - level)
                  for share, one, want in zip(shares, found, wanted)]
    return place


def places_of(vectors, text, ties):
    follow = script(text)
    end = [follow[-1]] * (CONTEXT - len(follow))
    places = [vectors[token] for token in follow + end]
    for index, letters in ties.items():
        places[3 + index] = tie(vectors, ord(text[index - 1]), ord(text[index]),
                                [ord(letter) for letter in letters])
    return places


def positions(vectors, text, ties):
    return [8 * value for place in places_of(vectors, text, ties) for value in place]


def log_probability(text, ties, said, ends):
    """What the decoder gives a sentence, and any of these single letters or the end behind it."""
    vectors = words(random.Random(SEED))
    places = places_of(vectors, text, ties)
    tokens = [ID["<|notimestamps|>"], *said.encode()]

    def share(index, wanted):
        found = logits(vectors, places[3 + index], tokens[index])
        return math.log(sum(math.exp(found[token]) for token in wanted)
                        / sum(math.exp(value) for value in found))
    return (sum(share(i, [token]) for i, token in enumerate(tokens[1:])),
            share(len(tokens) - 1, [*ends.encode(), ID["<|endoftext|>"]]))


def values(name, shape, numbers, vectors, text, ties):
    count = count_of(shape)
    if name == "model.decoder.embed_tokens.weight":
        return [value for vector in vectors for value in vector]
    if name == "model.decoder.embed_positions.weight":
        return positions(vectors, text, ties)
    if "norm" in name:
        sharpness = SHARPNESS if name.startswith("model.decoder.layer_norm") else 1.0
        return [sharpness if name.endswith("weight") else 0.0] * count
    if name.startswith("model.decoder"):
        return [0.0] * count
    return [numbers.uniform(-0.3, 0.3) for _ in range(count)]


def write_tensors(path, text, ties):
    numbers = random.Random(SEED)
    vectors = words(numbers)
    head, weights = {}, b""
    for name, shape in shapes():
        flat = array.array("f", values(name, shape, numbers, vectors, text, ties))
        if sys.byteorder == "big":
            flat.byteswap()
        content = flat.tobytes()
        head[name] = {"dtype": "F32", "shape": list(shape),
                      "data_offsets": [len(weights), len(weights) + len(content)]}
        weights += content
    header = json.dumps(head).encode()
    header += b" " * (-len(header) % 8)
    path.write_bytes(struct.pack("<Q", len(header)) + header + weights)


def config():
    return {"architectures": ["WhisperForConditionalGeneration"], "model_type": "whisper",
            "d_model": WIDTH, "encoder_layers": 1, "decoder_layers": 1,
            "encoder_attention_heads": HEADS, "decoder_attention_heads": HEADS,
            "encoder_ffn_dim": MLP, "decoder_ffn_dim": MLP, "num_mel_bins": MELS,
            "max_source_positions": POSITIONS, "max_target_positions": CONTEXT,
            "vocab_size": VOCABULARY}


def generation_config():
    return {"decoder_start_token_id": ID["<|startoftranscript|>"], "eos_token_id": ID["<|endoftext|>"],
            "no_timestamps_token_id": ID["<|notimestamps|>"],
            "task_to_id": {"transcribe": ID["<|transcribe|>"], "translate": ID["<|translate|>"]},
            "lang_to_id": {"<|en|>": ID["<|en|>"], "<|fr|>": ID["<|fr|>"]},
            "suppress_tokens": [], "begin_suppress_tokens": [ID["<|endoftext|>"]]}


def tokenizer():
    added = [{"id": ID[name], "content": name, "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": True} for name in SPECIAL]
    vocab = {letter: byte for byte, letter in enumerate(byte_letters())}
    return {"version": "1.0", "added_tokens": added, "normalizer": None,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
            "post_processor": None, "decoder": {"type": "ByteLevel"},
            "model": {"type": "BPE", "vocab": {**vocab, **ID}, "merges": []}}


def write(folder, text, ties=None):
    """`ties`: index of a letter of the text -> letters that are nearly heard there, all alike."""
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    write_tensors(folder / "model.safetensors", text, ties or {})
    for name, content in (("config", config()), ("generation_config", generation_config()),
                          ("tokenizer", tokenizer())):
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
