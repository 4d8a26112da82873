// whisper_names.c: how each container names Whisper's tensors.
//   in   the checkpoint's kind
//   out  a table of name patterns
#include "exporter/models/whisper.h"

static const kz_whisper_names hugging_face = {
    .weight = ".weight",
    .bias = ".bias",
    .gamma = ".weight",
    .beta = ".bias",
    .conv1 = "model.encoder.conv1",
    .conv2 = "model.encoder.conv2",
    .encoder_positions = "model.encoder.embed_positions.weight",
    .encoder_norm = "model.encoder.layer_norm",
    .encoder_attention = {"model.encoder.layers.#.self_attn_layer_norm",
                          "model.encoder.layers.#.self_attn.q_proj",
                          "model.encoder.layers.#.self_attn.k_proj",
                          "model.encoder.layers.#.self_attn.v_proj",
                          "model.encoder.layers.#.self_attn.out_proj"},
    .encoder_mlp_norm = "model.encoder.layers.#.final_layer_norm",
    .encoder_up = "model.encoder.layers.#.fc1",
    .encoder_down = "model.encoder.layers.#.fc2",
    .embedding = "model.decoder.embed_tokens.weight",
    .decoder_positions = "model.decoder.embed_positions.weight",
    .decoder_norm = "model.decoder.layer_norm",
    .decoder_attention = {"model.decoder.layers.#.self_attn_layer_norm",
                          "model.decoder.layers.#.self_attn.q_proj",
                          "model.decoder.layers.#.self_attn.k_proj",
                          "model.decoder.layers.#.self_attn.v_proj",
                          "model.decoder.layers.#.self_attn.out_proj"},
    .cross_attention = {"model.decoder.layers.#.encoder_attn_layer_norm",
                        "model.decoder.layers.#.encoder_attn.q_proj",
                        "model.decoder.layers.#.encoder_attn.k_proj",
                        "model.decoder.layers.#.encoder_attn.v_proj",
                        "model.decoder.layers.#.encoder_attn.out_proj"},
    .decoder_mlp_norm = "model.decoder.layers.#.final_layer_norm",
    .decoder_up = "model.decoder.layers.#.fc1",
    .decoder_down = "model.decoder.layers.#.fc2",
};

static const kz_whisper_names ctranslate2 = {
    .weight = "/weight",
    .bias = "/bias",
    .gamma = "/gamma",
    .beta = "/beta",
    .conv1 = "encoder/conv1",
    .conv2 = "encoder/conv2",
    .encoder_positions = "encoder/position_encodings/encodings",
    .encoder_norm = "encoder/layer_norm",
    .encoder_attention = {"encoder/layer_#/self_attention/layer_norm",
                          "encoder/layer_#/self_attention/linear_0", NULL, NULL,
                          "encoder/layer_#/self_attention/linear_1"},
    .encoder_mlp_norm = "encoder/layer_#/ffn/layer_norm",
    .encoder_up = "encoder/layer_#/ffn/linear_0",
    .encoder_down = "encoder/layer_#/ffn/linear_1",
    .embedding = "decoder/embeddings/weight",
    .decoder_positions = "decoder/position_encodings/encodings",
    .decoder_norm = "decoder/layer_norm",
    .decoder_attention = {"decoder/layer_#/self_attention/layer_norm",
                          "decoder/layer_#/self_attention/linear_0", NULL, NULL,
                          "decoder/layer_#/self_attention/linear_1"},
    .cross_attention = {"decoder/layer_#/attention/layer_norm",
                        "decoder/layer_#/attention/linear_0", "decoder/layer_#/attention/linear_1",
                        NULL, "decoder/layer_#/attention/linear_2"},
    .decoder_mlp_norm = "decoder/layer_#/ffn/layer_norm",
    .decoder_up = "decoder/layer_#/ffn/linear_0",
    .decoder_down = "decoder/layer_#/ffn/linear_1",
};

static const kz_whisper_names ggml = {
    .weight = ".weight",
    .bias = ".bias",
    .gamma = ".weight",
    .beta = ".bias",
    .conv1 = "encoder.conv1",
    .conv2 = "encoder.conv2",
    .encoder_positions = "encoder.positional_embedding",
    .encoder_norm = "encoder.ln_post",
    .encoder_attention = {"encoder.blocks.#.attn_ln", "encoder.blocks.#.attn.query",
                          "encoder.blocks.#.attn.key", "encoder.blocks.#.attn.value",
                          "encoder.blocks.#.attn.out"},
    .encoder_mlp_norm = "encoder.blocks.#.mlp_ln",
    .encoder_up = "encoder.blocks.#.mlp.0",
    .encoder_down = "encoder.blocks.#.mlp.2",
    .embedding = "decoder.token_embedding.weight",
    .decoder_positions = "decoder.positional_embedding",
    .decoder_norm = "decoder.ln",
    .decoder_attention = {"decoder.blocks.#.attn_ln", "decoder.blocks.#.attn.query",
                          "decoder.blocks.#.attn.key", "decoder.blocks.#.attn.value",
                          "decoder.blocks.#.attn.out"},
    .cross_attention = {"decoder.blocks.#.cross_attn_ln", "decoder.blocks.#.cross_attn.query",
                        "decoder.blocks.#.cross_attn.key", "decoder.blocks.#.cross_attn.value",
                        "decoder.blocks.#.cross_attn.out"},
    .decoder_mlp_norm = "decoder.blocks.#.mlp_ln",
    .decoder_up = "decoder.blocks.#.mlp.0",
    .decoder_down = "decoder.blocks.#.mlp.2",
};

const kz_whisper_names *kz_whisper_names_of(kz_checkpoint_kind kind) {
    switch (kind) {
    case KZ_CHECKPOINT_SAFETENSORS:
        return &hugging_face;
    case KZ_CHECKPOINT_CTRANSLATE2:
        return &ctranslate2;
    case KZ_CHECKPOINT_WHISPER_GGML:
        return &ggml;
    default:
        return NULL;
    }
}
