#!/usr/bin/env python3
"""Writes a GGUF file of random weights in the shape of GPT-2 small, for llama-bench.

    python3 make_gguf.py OUT.gguf {f32|f16|q8_0|q4_0}

Needs the gguf module (Debian: python3-gguf; PyPI: gguf). Matrices are drawn from N(0, 0.02^2) and gains of norms are
1, as in `vantage bench model --shape gpt2-small`.
"""
import sys

import gguf
import numpy as np

WIDTH, LAYERS, HEADS, VOCABULARY, CONTEXT = 768, 12, 12, 50257, 1024
TYPES = {name: (getattr(gguf.GGMLQuantizationType, name.upper()), getattr(gguf.LlamaFileType, file_type))
         for name, file_type in (("f32", "ALL_F32"), ("f16", "MOSTLY_F16"), ("q8_0", "MOSTLY_Q8_0"), ("q4_0", "MOSTLY_Q4_0"))}
F32 = gguf.GGMLQuantizationType.F32
random = np.random.default_rng(0)


def add_tokens(writer):
    """llama.cpp needs a vocabulary, although the benchmark does not use it"""
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([b"<unk>", b"<s>", b"</s>"] + [b"t%d" % i for i in range(VOCABULARY - 3)])
    writer.add_token_scores([0.0] * VOCABULARY)
    writer.add_token_types([2, 3, 3] + [1] * (VOCABULARY - 3))
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)


def main(path, type_name):
    tensor_type, file_type = TYPES[type_name]
    writer = gguf.GGUFWriter(path, "gpt2")
    writer.add_name("random gpt2-small")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(4 * WIDTH)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_eps(1e-5)
    writer.add_vocab_size(VOCABULARY)
    writer.add_file_type(file_type)
    add_tokens(writer)

    def matrix(name, out, width, kind=tensor_type):
        values = (random.standard_normal((out, width), dtype=np.float32) * 0.02)
        writer.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)

    def vector(name, size, value):
        writer.add_tensor(name, np.full(size, value, np.float32))

    def norm(name):
        vector(name + ".weight", WIDTH, 1)
        vector(name + ".bias", WIDTH, 0)

    def linear(name, out, width):
        matrix(name + ".weight", out, width)
        vector(name + ".bias", out, 0)

    matrix("token_embd.weight", VOCABULARY, WIDTH)
    matrix("position_embd.weight", CONTEXT, WIDTH, F32)
    norm("output_norm")
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        norm(block + "attn_norm")
        norm(block + "ffn_norm")
        linear(block + "attn_qkv", 3 * WIDTH, WIDTH)
        linear(block + "attn_output", WIDTH, WIDTH)
        linear(block + "ffn_up", 4 * WIDTH, WIDTH)
        linear(block + "ffn_down", WIDTH, 4 * WIDTH)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in TYPES:
        sys.exit(__doc__)
    main(*sys.argv[1:])
