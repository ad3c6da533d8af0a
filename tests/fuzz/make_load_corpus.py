#!/usr/bin/env python3
"""Writes the first inputs of fuzz_load: small model folders, from the test models of tests/data/oracle.

Each model is reduced to one layer and 16 tokens. Its weights are zeros in 16 bits. The format of an input is described
in fuzz_load.cpp.

Usage: tests/fuzz/make_load_corpus.py     (from the root of the repository)
"""
import json
import math
import pathlib
import re
import struct

MODELS = pathlib.Path("tests/data/oracle/models")
CORPUS = pathlib.Path("tests/fuzz/corpus/load")
NAMES = ["config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja",
         "preprocessor_config.json", "model.safetensors", "model.safetensors.index.json",
         "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "adapter_config.json",
         "adapter_model.safetensors"]
VOCAB = 16
LAYERS = ["num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_decoder_layers", "encoder_layers",
          "decoder_layers"]
BY_LAYER = ["layer_types", "attention_window"]
# Not "layer.1.DenseReluDense" and so on: a T5 block has two or three parts.
LAYER_OF_NAME = re.compile(r"\b(?:layers?|h|block)\.(\d+)\.(?!SelfAtt|EncDecAtt|DenseRelu|layer_norm)")
TEMPLATE = ("{% for m in messages %}{{ '<s>' + m['role'] + ': ' + m['content'] | trim }}{% endfor %}"
            "{% if add_generation_prompt %}{{ bos_token }}{% endif %}")
LETTERS = {c: i for i, c in enumerate(["<s>", "</s>", "a", "b", "c", "H", "i", ",", "ab", "##b", "##c", "[UNK]"])}


def config_of(model):
    config = json.loads((MODELS / model / "config.json").read_text())
    for key in LAYERS:
        if key in config:
            config[key] = 1
    for key in BY_LAYER:
        if isinstance(config.get(key), list):
            config[key] = config[key][:1]
    old = config.get("vocab_size")
    if old:
        config["vocab_size"] = VOCAB
    for key in config:  # ids beyond the vocabulary
        if key.endswith("token_id") and isinstance(config[key], int) and config[key] >= VOCAB:
            config[key] = 1
    return config, old


def shapes_of(model, old_vocab):
    shapes = {}
    for path in (MODELS / model).glob("model*.safetensors"):
        data = path.read_bytes()
        size = struct.unpack("<Q", data[:8])[0]
        for name, entry in json.loads(data[8:8 + size]).items():
            layer = LAYER_OF_NAME.search(name)
            if name != "__metadata__" and not (layer and int(layer.group(1)) > 0):
                shapes[name] = [VOCAB if n == old_vocab else n for n in entry["shape"]]
    return shapes


def safetensors(shapes):
    header, end = {}, 0
    for name, shape in shapes.items():
        begin = end
        end += 2 * math.prod(shape)
        header[name] = {"dtype": "F16", "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + bytes(end)


def tokenizer(kind):
    special = [{"id": i, "content": text, "special": True, "single_word": False, "lstrip": False, "rstrip": False,
                "normalized": False} for i, text in enumerate(["<s>", "</s>"])]
    models = {
        "BPE": {"type": "BPE", "vocab": LETTERS, "merges": ["a b"], "unk_token": None},
        "WordPiece": {"type": "WordPiece", "vocab": LETTERS, "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                      "max_input_chars_per_word": 100},
        "Unigram": {"type": "Unigram", "unk_id": 11, "vocab": [[text, -float(i)] for text, i in LETTERS.items()]},
    }
    pre = {"BPE": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
           "WordPiece": {"type": "BertPreTokenizer"}, "Unigram": None}
    normalizer = {"BPE": None, "WordPiece": {"type": "Lowercase"}, "Unigram": {"type": "NFKC"}}
    return {"version": "1.0", "added_tokens": special, "normalizer": normalizer[kind], "pre_tokenizer": pre[kind],
            "post_processor": None, "decoder": {"type": "ByteLevel"} if kind == "BPE" else None, "model": models[kind]}


def compact(tree):
    return json.dumps(tree, separators=(",", ":")).encode()


def write(name, files):
    packed = bytes([len(files)])
    for file, data in files.items():
        packed += bytes([NAMES.index(file)]) + struct.pack("<I", len(data)) + data
    (CORPUS / name).write_bytes(packed)


def main():
    CORPUS.mkdir(parents=True, exist_ok=True)
    generation = {"eos_token_id": [1], "temperature": 0.7, "top_k": 5, "top_p": 0.9, "repetition_penalty": 1.1}
    chat = {"bos_token": "<s>", "eos_token": "</s>", "chat_template": TEMPLATE}
    for model, kind in [("qwen3", "BPE"), ("gpt2", "BPE"), ("gemma2", "Unigram"), ("gpt_oss", "BPE"), ("bloom", "BPE"),
                        ("mixtral", "BPE"), ("t5", "Unigram"), ("longformer", "BPE"), ("distilbert", "WordPiece"),
                        ("vit", None), ("phi3", "BPE")]:
        config, old_vocab = config_of(model)
        files = {"config.json": compact(config)}
        if kind:
            files["tokenizer.json"] = compact(tokenizer(kind))
        if model in ("qwen3", "gpt2"):
            files |= {"generation_config.json": compact(generation), "tokenizer_config.json": compact(chat)}
        if model == "gemma2":
            files["chat_template.jinja"] = TEMPLATE.encode()
        if model == "vit":
            files["preprocessor_config.json"] = compact(
                {"image_processor_type": "ViTImageProcessor", "do_resize": True, "size": {"height": 32, "width": 32},
                 "resample": 2, "do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True,
                 "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]})
        shapes = shapes_of(model, old_vocab)
        if model == "phi3":
            half = len(shapes) // 2
            parts = [dict(list(shapes.items())[:half]), dict(list(shapes.items())[half:])]
            files |= {name: safetensors(part) for name, part in zip(NAMES[8:10], parts)}
            index = {tensor: name for name, part in zip(NAMES[8:10], parts) for tensor in part}
            files["model.safetensors.index.json"] = compact({"metadata": {"total_size": 1}, "weight_map": index})
        else:
            files["model.safetensors"] = safetensors(shapes)
        write(model, files)
        if model == "gpt2":
            layer, width = "base_model.model.transformer.h.0.attn.c_attn", config["n_embd"]
            files["adapter_config.json"] = compact(
                {"peft_type": "LORA", "r": 2, "lora_alpha": 4, "use_rslora": True, "bias": "none",
                 "target_modules": ["c_attn"], "rank_pattern": {}})
            files["adapter_model.safetensors"] = safetensors(
                {f"{layer}.lora_A.weight": [2, width], f"{layer}.lora_B.weight": [3 * width, 2]})
            write("gpt2_adapters", files)


if __name__ == "__main__":
    main()
