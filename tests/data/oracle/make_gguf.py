#!/usr/bin/env python3
"""Writes GGUF files of the models in models/, as llama.cpp's converter (convert_hf_to_gguf.py) does, with its gguf module.

    python3 make_gguf.py MODELS OUT [TINY]

Debian: python3-gguf, python3-safetensors, libggml-base0 for mixed. Files: llama-f16 (rows of q and k turned, SentencePiece's tokenizer), qwen3-f32,
qwen3-q8_0 and qwen3-q4_0 (matrices whose rows are no whole blocks in f16), qwen2-bf16 (biases, tied output),
words-f32: the tokenizer of GPT-2 in qwen3's shape, and mixed: random matrices, each of another quantized type. TINY: the folder of small ones for tests/fuzz/corpus/gguf.
"""
import ctypes
import json
import sys
from pathlib import Path

import gguf
import numpy as np
from safetensors.numpy import load_file

Q = gguf.GGMLQuantizationType
NAMES = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
         "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
OUTSIDE = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def name_of(name):
    stem, end = name.rsplit(".", 1)
    if stem in OUTSIDE:
        return f"{OUTSIDE[stem]}.{end}"
    _, _, layer, rest = stem.split(".", 3)
    return f"blk.{layer}.{NAMES[rest]}.{end}"


def permuted(weights, heads):
    """The converter's LlamaModel.permute"""
    return (weights.reshape(heads, 2, weights.shape[0] // heads // 2, *weights.shape[1:]).swapaxes(1, 2).reshape(weights.shape))


def add_sentence_piece(writer, tokenizer):
    vocabulary = sorted(tokenizer["model"]["vocab"].items(), key=lambda one: one[1])
    special = {one["id"] for one in tokenizer["added_tokens"]}
    rank = {}
    for i, merge in enumerate(tokenizer["model"]["merges"]):
        left, right = merge if isinstance(merge, list) else merge.split(" ")
        rank.setdefault(left + right, i)
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([text.encode() for text, _ in vocabulary])
    writer.add_token_scores([-float(rank.get(text, 1e6)) for text, _ in vocabulary])
    writer.add_token_types([3 if i in special else 6 if text.startswith("<0x") else 1 for text, i in vocabulary])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)


def add_byte_level(writer, tokenizer):
    vocabulary = sorted(tokenizer["model"]["vocab"].items(), key=lambda one: one[1])
    special = {one["id"] for one in tokenizer["added_tokens"]}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([text.encode() for text, _ in vocabulary])
    writer.add_token_types([3 if i in special else 1 for _, i in vocabulary])
    writer.add_token_merges([" ".join(one) if isinstance(one, list) else one for one in tokenizer["model"]["merges"]])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)


def write(models, model, path, kind, words=None):
    folder = models / model
    config = json.loads((folder / "config.json").read_text())
    tensors = load_file(folder / "model.safetensors")
    heads, key_heads = config["num_attention_heads"], config["num_key_value_heads"]
    writer = gguf.GGUFWriter(path, {"llama": "llama", "qwen2": "qwen2", "qwen3": "qwen3"}[config["model_type"]])
    writer.add_name(model)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(key_heads)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    if config.get("head_dim"):
        writer.add_key_length(config["head_dim"])
        writer.add_value_length(config["head_dim"])
    if words is not None:
        tokenizer = json.loads(words.read_text())
        (add_sentence_piece if tokenizer["model"].get("byte_fallback") else add_byte_level)(writer, tokenizer)
    for name, values in tensors.items():
        values = values.astype(np.float32)
        if config["model_type"] == "llama" and (".q_proj." in name or ".k_proj." in name):
            values = permuted(values, heads if ".q_proj." in name else key_heads)
        type_of = Q.F32 if values.ndim == 1 else kind
        if type_of in (Q.Q8_0, Q.Q4_0) and values.shape[-1] % 32 != 0:
            type_of = Q.F16
        writer.add_tensor(name_of(name), gguf.quants.quantize(np.ascontiguousarray(values), type_of), raw_dtype=type_of)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_tiny(path, architecture, kind):
    """One layer of 32 features, every kind of key that is read"""
    random = np.random.default_rng(1)
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_context_length(16)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    writer.add_feed_forward_length(32)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_chat_template("{% for m in messages %}{{ m.content }}{% endfor %}")
    if architecture == "llama":
        tokens = ["<unk>", "<s>", "</s>", "<0x41>", "▁", "M", "i", "a", "ia", "▁M", "▁Mia", "k"]
        writer.add_tokenizer_model("llama")
        writer.add_token_list([one.encode() for one in tokens])
        writer.add_token_scores([0.0] * 4 + [-float(i) for i in range(len(tokens) - 4)])
        writer.add_token_types([2, 3, 3, 6] + [1] * (len(tokens) - 4))
        writer.add_unk_token_id(0)
        writer.add_add_space_prefix(True)
    else:
        tokens = ["<|end|>", "a", "b", "ab", "Ġ", "Ġab", "c", "d", "e", "f", "g", "h"]
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("llama-bpe" if architecture == "qwen3" else "qwen2")
        writer.add_token_list([one.encode() for one in tokens])
        writer.add_token_types([3] + [1] * (len(tokens) - 1))
        writer.add_token_merges(["a b", "Ġ ab"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(0)

    def add(name, *shape):
        values = random.standard_normal(shape, dtype=np.float32)
        type_of = Q.F32 if len(shape) == 1 else kind
        writer.add_tensor(name, gguf.quants.quantize(values, type_of), raw_dtype=type_of)

    add("token_embd.weight", len(tokens), 32)
    add("output_norm.weight", 32)
    for name, rows in (("attn_q", 32), ("attn_k", 16), ("attn_v", 16), ("attn_output", 32), ("ffn_gate", 32), ("ffn_up", 32), ("ffn_down", 32)):
        add(f"blk.0.{name}.weight", rows, 32)
    for name, rows in (("attn_q", 32), ("attn_k", 16), ("attn_v", 16)) if architecture == "qwen2" else ():
        add(f"blk.0.{name}.bias", rows)
    for name in ("attn_q_norm", "attn_k_norm") if architecture == "qwen3" else ():
        add(f"blk.0.{name}.weight", 8)
    add("blk.0.attn_norm.weight", 32)
    add("blk.0.ffn_norm.weight", 32)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_other(path, architecture, kind, tensors):
    """Keys and tensors that only some architectures have, without the rest of a model"""
    random = np.random.default_rng(3)
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_context_length(16)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_eps(1e-5)
    writer.add_rope_dimension_count(4)
    writer.add_rope_scaling_type(gguf.RopeScalingType.LONGROPE)
    writer.add_rope_scaling_orig_ctx_len(8)
    writer.add_expert_count(2 if architecture == "llama" else 0)
    writer.add_expert_used_count(1)
    writer.add_sliding_window(4)
    writer.add_attn_logit_softcapping(50.0)
    for name, *shape in (("token_embd", 8, 32), *tensors):
        values = random.standard_normal(shape, dtype=np.float32)
        type_of = Q.F32 if len(shape) == 1 else kind
        writer.add_tensor(f"{name}.weight", gguf.quants.quantize(values, type_of), raw_dtype=type_of)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def in_blocks(values, kind):
    """As ggml itself makes blocks: the gguf module makes none of 256"""
    ggml = ctypes.CDLL("libggml-base.so.0")
    elements, size = gguf.quants.GGML_QUANT_SIZES[kind]
    rows, columns = values.shape
    blocks = np.zeros((rows, columns // elements * size), dtype=np.uint8)
    ggml.ggml_quantize_chunk(ctypes.c_int(int(kind)), values.ctypes.data_as(ctypes.c_void_p),
                             blocks.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(0), ctypes.c_int64(rows), ctypes.c_int64(columns), None)
    return blocks


def write_mixed(path):
    """Llama with a layer of 256 features and 4 heads, 2 for keys"""
    random = np.random.default_rng(2)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(256)
    writer.add_block_count(1)
    writer.add_feed_forward_length(256)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    for name, rows, kind in (("token_embd", 96, Q.Q6_K), ("blk.0.attn_q", 256, Q.Q4_K), ("blk.0.attn_k", 128, Q.Q5_K),
                             ("blk.0.attn_v", 128, Q.Q6_K), ("blk.0.attn_output", 256, Q.Q4_1), ("blk.0.ffn_gate", 256, Q.Q5_0),
                             ("blk.0.ffn_up", 256, Q.Q5_1), ("blk.0.ffn_down", 256, Q.Q4_K)):
        values = (random.standard_normal((rows, 256)) / 16).astype(np.float32)
        writer.add_tensor(f"{name}.weight", in_blocks(values, kind), raw_dtype=kind)
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(256, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main(models, out, tiny=None):
    models, out = Path(models), Path(out)
    out.mkdir(exist_ok=True)
    write(models, "llama", out / "llama-f16.gguf", Q.F16, models / "llama/tokenizer.json")
    write(models, "qwen2", out / "qwen2-bf16.gguf", Q.BF16)
    for kind in (Q.F32, Q.Q8_0, Q.Q4_0):
        write(models, "qwen3", out / f"qwen3-{kind.name.lower()}.gguf", kind)
    write(models, "qwen3", out / "words-f32.gguf", Q.F32, models / "gpt2/tokenizer.json")
    write_mixed(out / "mixed.gguf")
    if tiny:
        for architecture, kind in (("llama", Q.Q4_0), ("qwen2", Q.Q8_0), ("qwen3", Q.F16)):
            write_tiny(Path(tiny) / architecture, architecture, kind)
        for architecture, kind, tensors in (
                ("falcon", Q.F16, [("blk.0.attn_qkv", 64, 32), ("blk.0.attn_norm_2", 32)]),
                ("gemma2", Q.Q4_0, [("blk.0.attn_norm", 32), ("blk.0.ffn_down", 32, 64)]),
                ("llama", Q.Q8_0, [("blk.0.ffn_down_exps", 2, 32, 32), ("rope_freqs", 2)]),
                ("phi3", Q.F32, [("rope_factors_short", 2), ("rope_factors_long", 2)])):
            write_other(Path(tiny) / f"{architecture}_parts", architecture, kind, tensors)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
