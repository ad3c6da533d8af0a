#!/usr/bin/env python3
"""Makes variants/llama, variants/bert and variants/bart: whole models of transformers in small whose attention is another one
(docs/models.md, "Other attention"), computed by torch in float64. The kinds with weights of their own are in the files
under the names of docs/models.md. expected.safetensors has of each kind the logits and the attention weights of some rows.

    apt-get install --no-install-recommends python3-torch python3-safetensors; pip install transformers
    python3 make_variants.py

The folders here were made with torch 2.14.1 and transformers 5.12.1.
"""

import json
import math
import os

import numpy
import torch
from safetensors.torch import save_file
from transformers import (BartConfig, BartForConditionalGeneration, BertConfig, BertForMaskedLM, LlamaConfig,
                          LlamaForCausalLM)
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

HERE = os.path.dirname(os.path.abspath(__file__))
TOKENS, ROWS = 70, [0, 3, 40, 63, 64, 69]
PLACES, FEATURES, WINDOW, STEP, STRIDE, BLOCK = 12, 40, 9, 3, 6, 4


def philox(counter, key):
    """Philox 4x32-10 (Salmon et al. 2011)."""
    c, k, mask = list(counter), list(key), 0xFFFFFFFF
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & mask, (a >> 32) ^ c[3] ^ k[1], a & mask]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c


def performer_vectors(features, width):
    """Vectors of FAVOR+ that are orthogonal by blocks of `width`, with the lengths of normal vectors."""
    unit = lambda word: (word + 0.5) * 2.0**-32
    def normal(i):
        words = philox((i, 0, 0, 0), (0, 0))
        return math.sqrt(-2 * math.log(unit(words[0]))) * math.cos(2 * math.pi * unit(words[1]))
    raw = numpy.array([normal(i) for i in range(features * width)]).reshape(features, width)
    more = numpy.array([normal(features * width + i) for i in range(features * width)]).reshape(features, width)
    blocks = []
    for begin in range(0, features, width):
        block = raw[begin:begin + width]
        q, r = numpy.linalg.qr(block.T)
        blocks.append((q * numpy.sign(numpy.diag(r))).T)
    return torch.tensor(numpy.concatenate(blocks) * numpy.linalg.norm(more, axis=1, keepdims=True))


def bigbird(n, causal):
    """Which tokens see which: 2 global blocks, 3 around a block, 3 random ones before it."""
    blocks = -(-n // BLOCK)
    seen = torch.zeros(blocks, blocks, dtype=torch.bool)
    for i in range(blocks):
        others = []
        for j in range(i + 1):
            if i < 2 or j < 2 or i - j < 2:
                seen[i, j] = True
            else:
                others.append(j)
        for drawn in range(min(3, len(others))):
            word = philox((i, drawn, 0, 0), (0, 0))[0]
            at = drawn + (word * (len(others) - drawn) >> 32)
            others[drawn], others[at] = others[at], others[drawn]
            seen[i, others[drawn]] = True
    if not causal:
        seen |= seen.T.clone()
    return seen.repeat_interleave(BLOCK, 0).repeat_interleave(BLOCK, 1)[:n, :n]


class Variant:
    """What takes the place of softmax attention. Weights by layer are in `own`."""

    kind, causal, own, kept = "own", True, [], []

    def __call__(self, module, q, k, v, attention_mask, scaling=None, **_):
        if getattr(module, "is_cross", False):  # keeps its softmax
            return ((q.shape[-1]**-0.5 * q @ k.mT).softmax(-1) @ v).transpose(1, 2), None
        causal = getattr(module, "causal", self.causal)
        layer, group = module.layer_idx, q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        n, d = q.shape[-2:]
        scale = d**-0.5
        i, j = torch.arange(n)[:, None], torch.arange(n)[None]
        allowed = j <= i if causal else torch.ones(n, n, dtype=torch.bool)
        scores, weights, kind = scale * q @ k.mT, None, self.kind
        if kind == "linear":
            phi = lambda x: torch.nn.functional.elu(x) + 1
            weights = phi(q) @ phi(k).mT
        elif kind == "performer":
            w = performer_vectors(FEATURES, d)
            phi = lambda x: torch.exp(x * scale**0.5 @ w.T - scale * (x * x).sum(-1, keepdim=True) / 2)
            weights = phi(q) @ phi(k).mT
        elif kind == "hard":
            scores = scores.masked_fill(~allowed, -math.inf)
            weights = torch.nn.functional.one_hot(scores.argmax(-1), n).to(q.dtype)
        elif kind == "window":
            allowed = allowed & ((i - j).abs() < WINDOW)
        elif kind == "dilated":
            allowed = allowed & ((i - j) % STEP == 0)
        elif kind == "strided":
            allowed = allowed & (((i - j).abs() < STRIDE) | ((i - j) % STRIDE == 0))
        elif kind == "bigbird":
            allowed = allowed & bigbird(n, causal)
        elif kind == "multiplicative":
            scores = (q @ self.own[layer]["multiplicative.weight"].T) @ k.mT
        elif kind == "additive":
            w = self.own[layer]
            asked, offered = q @ w["additive.query.weight"].T, k @ w["additive.key.weight"].T + w["additive.key.bias"]
            scores = torch.tanh(asked[..., :, None, :] + offered[..., None, :, :]) @ w["additive.score"]
        elif kind == "linformer":
            e, f = (self.own[layer][f"linformer.{PLACES}.{part}.weight"][:n].T for part in ("key", "value"))
            out = (scale * q @ (e @ k).mT).softmax(-1) @ (f @ v)
            return out.transpose(1, 2), None
        if weights is None:
            weights = scores.masked_fill(~allowed, -math.inf).softmax(-1)
        else:
            weights = weights.masked_fill(~allowed, 0)
            weights = weights / weights.sum(-1, keepdim=True)
        self.kept.append(weights[0])
        return (weights @ v).transpose(1, 2), weights


variant = Variant()
ALL_ATTENTION_FUNCTIONS.register("variant", variant)


def make(name, model, scope, head_width, kinds, seed):
    generator = torch.Generator().manual_seed(seed)
    random = lambda *shape: torch.randn(*shape, generator=generator)
    for key, p in model.named_parameters():
        x = random(*p.shape)
        p.data = 1 + 0.2 * x if "norm" in key.lower() and key.endswith("weight") else \
            0.2 * x + 0.05 * x.sign() if p.ndim == 1 else 1.2 / math.sqrt(p.shape[1]) * x if "embed" not in key else 0.6 * x
    c, variant.own = model.config, []
    for _ in range(c.num_hidden_layers):
        d = head_width
        own = {"additive.query.weight": random(d, d) / math.sqrt(d), "additive.key.weight": random(d, d) / math.sqrt(d),
               "additive.key.bias": 0.3 * random(d), "additive.score": 1.5 * random(d),
               "multiplicative.weight": random(d, d) / d}
        if "linformer" in kinds:
            for part in ("key", "value"):
                own[f"linformer.{PLACES}.{part}.weight"] = random(c.max_position_embeddings, PLACES) / 4
        variant.own.append(own)
    folder = os.path.join(HERE, "variants", name)
    os.makedirs(folder, exist_ok=True)
    tensors = {k: v.detach().clone().contiguous() for k, v in model.state_dict().items() if "position_ids" not in k}
    for tied in {"bert": ["cls.predictions.decoder.weight", "cls.predictions.decoder.bias"],
                 "bart": ["lm_head.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"],
                 "llama": []}[name]:
        tensors.pop(tied, None)
    for i, own in enumerate(variant.own if scope else []):
        tensors |= {f"{scope}.{i}.attention_{key}": value.contiguous() for key, value in own.items()}
    save_file(tensors, os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
    config = json.loads(c.to_json_string(use_diff=False))
    wanted = ("model_type", "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
              "num_key_value_heads", "head_dim", "max_position_embeddings", "rms_norm_eps", "layer_norm_eps", "hidden_act",
              "type_vocab_size", "tie_word_embeddings", "rope_theta", "rope_parameters", "attention_bias", "mlp_bias",
              "d_model", "encoder_layers", "decoder_layers", "encoder_attention_heads", "decoder_attention_heads",
              "encoder_ffn_dim", "decoder_ffn_dim", "activation_function", "scale_embedding", "decoder_start_token_id",
              "bos_token_id", "eos_token_id", "pad_token_id")
    config = {key: config[key] for key in wanted if key in config}
    config["architectures"] = [type(model).__name__]
    if scope:
        config["attention_kinds"] = [k + (f":{PLACES}" if k == "linformer" else "") for k in kinds
                                     if k in ("additive", "multiplicative", "linformer")]
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file, indent=1, sort_keys=True)
        file.write("\n")
    numbers = {"performer": FEATURES, "window": WINDOW, "dilated": STEP, "strided": STRIDE, "bigbird": BLOCK, "linformer": PLACES}
    ids = torch.randint(3, c.vocab_size, (TOKENS,), generator=generator)
    expected = {"input_ids": ids, "rows": torch.tensor(ROWS)}
    model = model.double()
    variant.causal, variant.own = name == "llama", [{k: v.double() for k, v in own.items()} for own in variant.own]
    for kind in kinds:
        variant.kind, variant.kept = kind, []
        with torch.no_grad():
            begun = torch.cat([torch.tensor([2]), ids.flip(0)[:-1]])[None]  # the start token, and then the text backwards
            written = {"decoder_input_ids": begun} if name == "bart" else {}
            logits = model(input_ids=ids[None], **written).logits[0]
        label = kind + (f":{numbers[kind]}" if kind in numbers else "")
        expected[label + ".logits"] = logits[ROWS].float()
        layers = c.num_hidden_layers  # [layers, heads, rows, tokens]; of an encoder–decoder the encoder's come first
        if variant.kept:
            expected[label + ".attention"] = torch.stack(variant.kept[-layers:])[:, :, ROWS].float()
        if len(variant.kept) > layers:
            expected[label + ".encoder_attention"] = torch.stack(variant.kept[:layers])[:, :, ROWS].float()
    save_file({k: v.contiguous() for k, v in expected.items()}, os.path.join(folder, "expected.safetensors"))


EVERYWHERE = ["own", "linear", "performer", "hard", "window", "dilated", "strided", "bigbird", "additive", "multiplicative"]
llama = LlamaForCausalLM(LlamaConfig(vocab_size=101, hidden_size=32, intermediate_size=44, num_hidden_layers=2, num_attention_heads=4,
                                     num_key_value_heads=2, head_dim=8, max_position_embeddings=96, tie_word_embeddings=False,
                                     attn_implementation="variant")).eval()
make("llama", llama, "model.layers", 8, EVERYWHERE, 11)
bert = BertForMaskedLM(BertConfig(vocab_size=103, hidden_size=36, intermediate_size=40, num_hidden_layers=2, num_attention_heads=3,
                                  max_position_embeddings=80, type_vocab_size=2, attn_implementation="variant")).eval()
make("bert", bert, "bert.encoder.layer", 12, EVERYWHERE + ["linformer"], 12)
bart = BartForConditionalGeneration(BartConfig(vocab_size=97, d_model=32, encoder_layers=2, decoder_layers=2,
                                               encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=40,
                                               decoder_ffn_dim=40, max_position_embeddings=80, bos_token_id=0,
                                               pad_token_id=1, eos_token_id=2, decoder_start_token_id=2,
                                               forced_eos_token_id=None, attn_implementation="variant")).eval()
for layer in bart.model.encoder.layers:
    layer.self_attn.causal = False
for i, layer in enumerate(bart.model.decoder.layers):
    layer.self_attn.causal, layer.encoder_attn.is_cross = True, True
make("bart", bart, "", 8, ["own", "linear", "performer", "hard", "window", "strided", "bigbird"], 13)
