#!/usr/bin/env python3
"""Converts models in models/ to GGUF files with llama.cpp's own converter, so that what it changes on the way is its work.

    python3 convert_gguf.py MODELS OUT

Debian sid: llama.cpp-tools, python3-gguf, python3-torch, python3-safetensors. Only the file of bert has a tokenizer.
Gemma 2's file has another query_pre_attn_scalar than its folder: GGUF has no key for it, and readers take the width of a head.
"""
import sys
import tempfile
from pathlib import Path
import shutil

import gguf

sys.path.insert(1, "/usr/share/llama.cpp/llama.cpp-tools")
from conversion import ModelBase, ModelType, get_model_architecture, get_model_class  # noqa: E402

MODELS = ["bert", "bloom", "falcon", "falcon_multi_query", "gemma2", "gpt2", "gpt_neox", "granite", "llama_linear",
          "llama_llama3", "mixtral", "olmo2", "phi", "phi3", "phi3_longrope", "qwen3_moe", "smollm3"]
IN_PARTS, WITH_WORDS = ["llama_linear"], ["bert"]
# Keys that the converter reads and transformers 5 writes under other names, or has as defaults.
MORE = {"falcon_multi_query": {"num_kv_heads": 1}, "gpt_neox": {"rotary_pct": 0.25}, "bloom": {"seq_length": 2048}, "gpt2": {"n_ctx": 96}}


def convert(folder, out):
    with tempfile.TemporaryDirectory() as copy:
        copy = Path(copy) / folder.name
        shutil.copytree(folder, copy)
        config = copy / "config.json"  # GGUF has no head of masked words
        config.write_text(config.read_text().replace("BertForPreTraining", "BertModel"))
        kind = get_model_class(get_model_architecture(ModelBase.load_hparams(copy, is_mistral_format=False), ModelType.TEXT))
        if folder.name in WITH_WORDS:
            kind.get_vocab_base_pre = lambda self, tokenizer: "default"  # which it tells by a hash of known tokenizers
        else:
            kind.set_vocab = lambda self: None
        parts = {"split_max_tensors": 14} if folder.name in IN_PARTS else {}
        model = kind(copy, gguf.LlamaFileType.MOSTLY_F16, out, **parts)
        model.hparams |= MORE.get(folder.name, {})
        model.rope_parameters.setdefault("original_max_position_embeddings", model.hparams.get("max_position_embeddings"))
        model.write()


def main(models, out):
    for name in MODELS:
        convert(Path(models) / name, Path(out) / f"{name}-f16.gguf")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
