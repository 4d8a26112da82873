"""A language model of a few kilobytes, for tests that need one and not its wits.

In: a path. Out: a GGUF file of architecture llama: two layers of width 64, a byte-level tokenizer of
the 256 bytes, a few merges and the chatml tokens, weights from a fixed seed. What it says is noise, but
the same noise every time.
"""
import random
import struct

LAYERS, WIDTH, MLP, HEADS, KV_HEADS, CONTEXT = 2, 64, 128, 2, 1, 256
HEAD_WIDTH = WIDTH // HEADS
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MERGES = ["b o", "n j", "bo nj", "Ġ t"]
TEMPLATE = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + "
            "message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}"
            "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
UINT32, FLOAT32, BOOL, STRING, ARRAY = 4, 6, 7, 8, 9
INT32 = 5
F32 = 0
ALIGNMENT = 32


def byte_letters():
    """GPT-2's printable letter for each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters, extra = {byte: chr(byte) for byte in plain}, 256
    for byte in range(256):
        if byte not in letters:
            letters[byte] = chr(extra)
            extra += 1
    return [letters[byte] for byte in range(256)]


def vocabulary():
    return SPECIAL + byte_letters() + [merge.replace(" ", "") for merge in MERGES]


def text(value):
    content = value.encode()
    return struct.pack("<Q", len(content)) + content


def entry(key, kind, value):
    if kind == STRING:
        return text(key) + struct.pack("<I", kind) + text(value)
    letter = {UINT32: "I", FLOAT32: "f", BOOL: "?"}[kind]
    return text(key) + struct.pack("<I" + letter, kind, value)


def array(key, kind, values):
    pack = text if kind == STRING else lambda value: struct.pack("<i", value)
    head = text(key) + struct.pack("<IIQ", ARRAY, kind, len(values))
    return head + b"".join(map(pack, values))


def metadata():
    words = vocabulary()
    end = SPECIAL.index("<|im_end|>")
    return [
        entry("general.architecture", STRING, "llama"),
        entry("general.name", STRING, "tiny"),
        entry("llama.block_count", UINT32, LAYERS),
        entry("llama.embedding_length", UINT32, WIDTH),
        entry("llama.feed_forward_length", UINT32, MLP),
        entry("llama.attention.head_count", UINT32, HEADS),
        entry("llama.attention.head_count_kv", UINT32, KV_HEADS),
        entry("llama.context_length", UINT32, CONTEXT),
        entry("llama.attention.layer_norm_rms_epsilon", FLOAT32, 1e-5),
        entry("tokenizer.ggml.model", STRING, "gpt2"),
        entry("tokenizer.ggml.pre", STRING, "gpt-2"),
        array("tokenizer.ggml.tokens", STRING, words),
        array("tokenizer.ggml.token_type", INT32,
              [3 if word in SPECIAL else 1 for word in words]),
        array("tokenizer.ggml.merges", STRING, MERGES),
        entry("tokenizer.ggml.bos_token_id", UINT32, 1),
        entry("tokenizer.ggml.eos_token_id", UINT32, end),
        entry("tokenizer.ggml.add_bos_token", BOOL, False),
        entry("tokenizer.chat_template", STRING, TEMPLATE),
    ]


def shapes():
    """Name and shape, innermost dimension first as GGUF has it."""
    yield "token_embd.weight", (WIDTH, len(vocabulary()))
    yield "output_norm.weight", (WIDTH,)
    for layer in range(LAYERS):
        part = f"blk.{layer}."
        yield part + "attn_norm.weight", (WIDTH,)
        yield part + "attn_q.weight", (WIDTH, WIDTH)
        yield part + "attn_k.weight", (WIDTH, KV_HEADS * HEAD_WIDTH)
        yield part + "attn_v.weight", (WIDTH, KV_HEADS * HEAD_WIDTH)
        yield part + "attn_output.weight", (WIDTH, WIDTH)
        yield part + "ffn_norm.weight", (WIDTH,)
        yield part + "ffn_gate.weight", (WIDTH, MLP)
        yield part + "ffn_up.weight", (WIDTH, MLP)
        yield part + "ffn_down.weight", (MLP, WIDTH)


def values(shape, numbers):
    if len(shape) == 1:
        return [1.0] * shape[0]
    return [numbers.uniform(-0.3, 0.3) for _ in range(shape[0] * shape[1])]


def pad(content):
    return content + bytes(-len(content) % ALIGNMENT)


def write(path):
    numbers = random.Random(7)
    entries = metadata()
    heads, weights = b"", b""
    for name, shape in shapes():
        dims = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
        heads += text(name) + dims + struct.pack("<IQ", F32, len(weights))
        flat = values(shape, numbers)
        weights = pad(weights + struct.pack(f"<{len(flat)}f", *flat))
    count = sum(1 for _ in shapes())
    start = b"GGUF" + struct.pack("<IQQ", 3, count, len(entries)) + b"".join(entries) + heads
    with open(path, "wb") as file:
        file.write(pad(start) + weights)
