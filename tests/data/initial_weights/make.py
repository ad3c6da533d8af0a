#!/usr/bin/env python3
"""Records how transformers, and torch where transformers has no such model, initialise weights: a file for each
model_type, which tests/host/initial_weights_test.cpp compares with runtime/train/initial_weights.cpp.

On Debian sid (or a chroot of it):

    apt-get install --no-install-recommends python3-torch python3-transformers python3-safetensors
    python3 make.py            # all of them, some minutes on one core
    python3 make.py t5 mamba   # only these model types

The files here were made with torch 2.14.1 and transformers 5.12.1. A file has, for each model of its type, a config
(a path below tests/data, or the config itself) and statistics of each tensor over SEEDS seeds. Tensors have their
names in a checkpoint, with "*" for the number of a layer or an expert: these are taken together. Each is a list:

    kind        "fixed": without random numbers, "normal", "uniform" or "other"
    count       numbers that the statistics are of
    mean, standard deviation, smallest, largest
    kurtosis    E (x - mean)^4 / deviation^4: 3 of normal numbers, 1.8 of uniform ones; not of fixed ones
    zero rows   a list of those that are zeros, of the padding token, if there are any. The statistics are without them

Where this departs from transformers 5.12.1:

* GPT-2's residual projections. Its _init_weights has the rule of Radford et al. (2019), range / sqrt(2 layers), but
  compares the name "c_proj.weight" with names from the whole model on, so that the rule is never applied. It was in
  transformers 4; see residual_projections().
* BERT's and RoBERTa's tables of distances, which transformers 5 no longer has: relative() of make_models.py.
"""

import copy
import json
import math
import os
import re
import sys
import tempfile

import numpy
import torch
import transformers
from safetensors.torch import load_file

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(DATA, "oracle"))
import make_models  # noqa: E402
import make_recurrent  # noqa: E402
import make_transformer  # noqa: E402

SEEDS = 24

# Options that no model of the oracle has.
LLAMA = dict(model_type="llama", architectures=["LlamaForCausalLM"], vocab_size=90, hidden_size=32, num_hidden_layers=2,
             num_attention_heads=2, intermediate_size=48, max_position_embeddings=32)
MAMBA = dict(model_type="mamba", architectures=["MambaForCausalLM"], vocab_size=90, hidden_size=32, num_hidden_layers=3,
             state_size=6)
TOWER = dict(hidden_size=24, intermediate_size=32, num_hidden_layers=3, num_attention_heads=2)
TEXT = dict(TOWER, vocab_size=90, max_position_embeddings=24, eos_token_id=1)
IMAGE = dict(TOWER, hidden_size=32, image_size=16, patch_size=8, initializer_range=0.05)
T5 = dict(model_type="t5", architectures=["T5ForConditionalGeneration"], vocab_size=90, d_model=32, d_kv=12, d_ff=48,
          num_layers=2, num_heads=3, decoder_start_token_id=0)
EXTRA = {
    "gpt2_range": dict(model_type="gpt2", architectures=["GPT2LMHeadModel"], vocab_size=90, n_embd=32, n_layer=3,
                       n_head=2, n_positions=24, initializer_range=0.07, pad_token_id=3, bos_token_id=0,
                       eos_token_id=0),
    "llama_padding": dict(LLAMA, initializer_range=0.3, pad_token_id=7),
    "llama_last_padding": dict(LLAMA, pad_token_id=-1),
    "opt_range": dict(model_type="opt", architectures=["OPTForCausalLM"], vocab_size=90, hidden_size=32, ffn_dim=48,
                      num_hidden_layers=2, num_attention_heads=2, max_position_embeddings=24, init_std=0.06,
                      word_embed_proj_dim=32, pad_token_id=4),
    "mamba_rescaled": dict(MAMBA, time_step_init_scheme="constant", time_step_scale=2.0, time_step_min=0.01,
                           time_step_max=0.5, rescale_prenorm_residual=True, use_bias=True, initializer_range=0.04),
    "mamba_floor": dict(MAMBA, time_step_min=1e-5, time_step_floor=2e-3, time_step_scale=0.5, time_step_rank=5),
    "t5_factor": dict(T5, initializer_factor=0.25),
    "distilbert_sinusoidal": dict(model_type="distilbert", architectures=["DistilBertForMaskedLM"], vocab_size=90,
                                  dim=32, hidden_dim=48, n_layers=2, n_heads=2, max_position_embeddings=24,
                                  sinusoidal_pos_embds=True, initializer_range=0.05),
    "clip_factors": dict(model_type="clip", architectures=["CLIPModel"], projection_dim=20, initializer_factor=5.0,
                         text_config=dict(TEXT, initializer_factor=2.0, initializer_range=0.07),
                         vision_config=dict(IMAGE, initializer_factor=3.0)),
    "clip_text": dict(TEXT, model_type="clip_text_model", architectures=["CLIPTextModelWithProjection"],
                      projection_dim=20, initializer_factor=2.0),
    "clip_vision": dict(IMAGE, model_type="clip_vision_model", architectures=["CLIPVisionModelWithProjection"],
                        projection_dim=20, initializer_factor=0.5),
    "vit_gpt2_ranges": dict(model_type="vision-encoder-decoder", architectures=["VisionEncoderDecoderModel"],
                            encoder=dict(TOWER, model_type="vit", image_size=16, patch_size=8, initializer_range=0.05),
                            decoder=dict(model_type="gpt2", vocab_size=90, n_embd=32, n_layer=3, n_head=2,
                                         n_positions=24, initializer_range=0.11, add_cross_attention=True,
                                         is_decoder=True, bos_token_id=0, eos_token_id=0),
                            decoder_start_token_id=0, pad_token_id=0),
    "vit_pooler": dict(TOWER, model_type="vit", architectures=["ViTModel"], image_size=16, patch_size=8,
                       initializer_range=0.05),
    "bart_range": dict(model_type="bart", architectures=["BartForConditionalGeneration"], vocab_size=90, d_model=32,
                       max_position_embeddings=24, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
                       decoder_attention_heads=2, encoder_ffn_dim=48, decoder_ffn_dim=40, init_std=0.05, pad_token_id=5,
                       bos_token_id=0, eos_token_id=2),
}


def models():
    """(name, config, what the file says about the config)"""
    oracle = os.path.join(DATA, "oracle")
    folders = {f"{name}": f"oracle/models/{name}" for name in sorted(os.listdir(os.path.join(oracle, "models")))}
    folders["train_gpt2"] = "oracle/train"
    for name in ("bert", "llama", "t5", "vit"):
        folders["train_" + name] = f"oracle/train_more/{name}/init"
    for name, folder in folders.items():
        with open(os.path.join(DATA, folder, "config.json")) as f:
            yield name, json.load(f), folder + "/config.json"
    for name, config in EXTRA.items():
        yield name, config, config


def residual_projections(model, config):
    """Radford et al. (2019), "Language Models are Unsupervised Multitask Learners", section 2.3."""
    for module in model.modules():
        for name, p in module.named_parameters():
            if name == "c_proj.weight":
                torch.nn.init.normal_(p, std=config.initializer_range / math.sqrt(2 * config.n_layer))


def of_transformers(config, folder):
    cls = getattr(transformers, config["architectures"][0])
    c = cls.config_class.from_dict(copy.deepcopy(config))
    if config["model_type"] == "t5" and not config.get("scale_decoder_outputs", True):
        c.tie_word_embeddings = False  # transformers 5 sets it whatever the file says
    model = cls(c)
    decoder = c.decoder if config["model_type"] == "vision-encoder-decoder" else c
    if decoder.model_type == "gpt2":
        residual_projections(model, decoder)
    model.generation_config = transformers.GenerationConfig()  # that of a model may not be valid, and is not needed
    model.save_pretrained(folder)
    return load_file(os.path.join(folder, "model.safetensors"))


def of_transformer(config):
    """The layers as torch.nn.Transformer initialises them. What it has no rule for is as in the authors' tensor2tensor
    (and in fairseq): biases are zeros, and embeddings and the output layer have a variance of 1 / width."""
    model = make_transformer.Transformer(config)
    for part in (model.encoder, model.decoder):
        torch.nn.Transformer._reset_parameters(part)  # Xavier uniform for matrices
    for name, p in model.named_parameters():
        if name.endswith("bias"):
            torch.nn.init.zeros_(p)
    for table in {model.shared, model.head}:
        torch.nn.init.normal_(table.weight, std=config["d_model"] ** -0.5)
    return model.stored()


def tensors_of(config, folder):
    if config["model_type"] in ("recurrent", "seq2seq"):
        return make_recurrent.Recurrent(config).stored()
    return of_transformer(config) if config["model_type"] == "transformer" else of_transformers(config, folder)


def rounded(x):
    x = float(f"{x:.6g}")
    return int(x) if x == int(x) else x


def statistics(draws):
    """draws [tensors][seeds] of one shape by tensor"""
    stacks = [numpy.stack(seeds) for seeds in draws]
    fixed = all((stack == stack[0]).all() for stack in stacks)
    zero_rows, numbers = [], []
    for stack in stacks:
        rows = [r for r in range(stack.shape[1]) if not stack[:, r].any()] if stack.ndim == 3 and stack.any() else []
        assert not numbers or rows == zero_rows
        zero_rows = rows
        numbers.append(numpy.delete(stack, rows, 1) if rows else stack)
    if fixed:  # once is enough
        numbers = [stack[:1] for stack in numbers]
    x = numpy.concatenate([stack.ravel() for stack in numbers])
    deviation = x.std()
    skewness, kurtosis = (((x - x.mean()) ** n).mean() / deviation**n if deviation > 0 else 0 for n in (3, 4))
    for stack in numbers:  # what is taken together must be alike
        allowed = 6 * math.sqrt((kurtosis - 1) / (4 * stack.size)) if kurtosis > 1 else 0
        assert fixed or abs(stack.std() / deviation - 1) < allowed, (stack.std(), deviation)
    normal, uniform = (abs(skewness) < 0.3 and abs(kurtosis - wanted) < 0.3 for wanted in (3, 1.8))
    kind = "fixed" if fixed else "normal" if normal else "uniform" if uniform else "other"
    found = [kind, x.size] + [rounded(v) for v in (x.mean(), deviation, x.min(), x.max())]
    return found + ([] if fixed else [rounded(kurtosis)]) + ([zero_rows] if zero_rows else [])


def record(config):
    draws = {}
    for seed in range(SEEDS):
        torch.manual_seed(seed)
        with tempfile.TemporaryDirectory() as folder:
            tensors = tensors_of(config, folder)
        for name, tensor in tensors.items():
            assert tensor.dtype == torch.float32, name
            draws.setdefault(name, []).append(tensor.double().numpy())
    together = {}
    for name in sorted(draws):
        together.setdefault(re.sub(r"\.\d+(?=\.)", ".*", name), []).append(draws[name])
    return {name: statistics(some) for name, some in together.items()}


def write(model_type, found):
    with open(os.path.join(HERE, model_type + ".json"), "w") as f:
        lines = []
        for name, (config, tensors) in found.items():
            rows = ",\n".join(f"   {json.dumps(k)}: {json.dumps(v)}" for k, v in tensors.items())
            lines.append(f' "{name}": {{\n  "config": {json.dumps(config)},\n  "tensors": {{\n{rows}\n  }}\n }}')
        f.write("{\n" + ",\n".join(lines) + "\n}\n")


def main():
    torch.set_num_threads(1)
    make_models.relative(transformers.models.bert.modeling_bert, "Bert")
    make_models.relative(transformers.models.roberta.modeling_roberta, "Roberta")
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    wanted, by_type = sys.argv[1:], {}
    for name, config, said in models():
        if not wanted or config["model_type"] in wanted:
            by_type.setdefault(config["model_type"], {})[name] = (said, record(config))
            print(name, flush=True)
    for model_type, found in by_type.items():
        write(model_type, found)


if __name__ == "__main__":
    with torch.no_grad():
        main()
