#!/usr/bin/env python3
"""Makes models/transformer and models/transformer_norm_first: the encoder-decoder of "Attention Is All You Need" in
small, under the config.json and the tensor names that docs/models.md gives it, with the values that torch computes.

The layers are torch.nn.TransformerEncoderLayer and TransformerDecoderLayer. Their attention weights are not to be had
from a whole layer, so the sublayers are called one by one, and the results compared with those of the layers.

    apt-get install --no-install-recommends python3-torch python3-safetensors
    python3 make_transformer.py

Format of the folders: README.md section 1. The folders here were made with torch 2.14.1.
"""

import json
import math
import os
import shutil

import torch
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
LENGTHS, DECODER_LENGTHS, STEPS = (1, 17, 61), (1, 9, 23), 20
PARTS = {"self_attn": "self_attn", "multihead_attn": "encoder_attn", "linear1": "fc1", "linear2": "fc2"}


class Transformer(torch.nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.shared = torch.nn.Embedding(c["vocab_size"], c["d_model"])
        self.head = self.shared if c["tie_word_embeddings"] else torch.nn.Linear(c["d_model"], c["vocab_size"], bias=False)
        how = dict(d_model=c["d_model"], nhead=c["num_heads"], dim_feedforward=c["d_ff"], dropout=0.0,
                   activation=c["activation_function"], batch_first=True, norm_first=c["norm_first"])
        self.encoder = torch.nn.ModuleList(torch.nn.TransformerEncoderLayer(**how) for _ in range(c["num_encoder_layers"]))
        self.decoder = torch.nn.ModuleList(torch.nn.TransformerDecoderLayer(**how) for _ in range(c["num_decoder_layers"]))
        ends = c["norm_first"]
        self.encoder_norm = torch.nn.LayerNorm(c["d_model"]) if ends else torch.nn.Identity()
        self.decoder_norm = torch.nn.LayerNorm(c["d_model"]) if ends else torch.nn.Identity()

    def embed(self, ids):
        d = self.c["d_model"]
        angles = torch.arange(len(ids), dtype=torch.float64)[:, None] / 10000 ** (torch.arange(0, d, 2, dtype=torch.float64) / d)
        positions = torch.stack([angles.sin(), angles.cos()], -1).reshape(len(ids), d)
        return (math.sqrt(d) * self.shared(ids) + positions.to(self.shared.weight.dtype))[None]

    def attend(self, layer, attention, norm, x, memory, mask, weights):
        def sublayer(y):
            keys = y if memory is None else memory
            out, p = attention(y, keys, keys, attn_mask=mask, need_weights=True, average_attn_weights=False)
            weights.append(p)
            return out

        return x + sublayer(norm(x)) if self.c["norm_first"] else norm(x + sublayer(x))

    def feed(self, layer, norm, x):
        sublayer = lambda y: layer.linear2(layer.activation(layer.linear1(y)))
        return x + sublayer(norm(x)) if self.c["norm_first"] else norm(x + sublayer(x))

    def encode(self, ids):
        x, weights = self.embed(ids), []
        hidden = [x]
        for layer in self.encoder:
            whole = layer(x)
            x = self.feed(layer, layer.norm2, self.attend(layer, layer.self_attn, layer.norm1, x, None, None, weights))
            assert torch.allclose(x, whole, atol=1e-5) or x.dtype != torch.float32
            hidden.append(x)
        hidden[-1] = self.encoder_norm(x)
        return torch.cat(hidden), torch.cat(weights)

    def decode(self, ids, memory):
        n = len(ids)
        causal = torch.triu(torch.full((n, n), -math.inf, dtype=memory.dtype), 1)
        x, own, cross = self.embed(ids), [], []
        hidden = [x]
        for layer in self.decoder:
            whole = layer(x, memory, tgt_mask=causal)
            x = self.attend(layer, layer.self_attn, layer.norm1, x, None, causal, own)
            x = self.attend(layer, layer.multihead_attn, layer.norm2, x, memory, None, cross)
            x = self.feed(layer, layer.norm3, x)
            assert torch.allclose(x, whole, atol=1e-5) or x.dtype != torch.float32
            hidden.append(x)
        hidden[-1] = self.decoder_norm(x)
        return torch.cat(hidden), torch.cat(own), torch.cat(cross), hidden[-1][0] @ self.head.weight.T

    def stored(self):
        """Parameters under the names of docs/models.md: torch keeps q, k and v of an attention in one matrix."""
        tensors = {"shared.weight": self.shared.weight}
        if not self.c["tie_word_embeddings"]:
            tensors["lm_head.weight"] = self.head.weight
        for part, layers in (("encoder", self.encoder), ("decoder", self.decoder)):
            norms = ["self_attn_layer_norm", "final_layer_norm"]
            if part == "decoder":
                norms.insert(1, "encoder_attn_layer_norm")
            for i, layer in enumerate(layers):
                for name, p in layer.named_parameters():
                    head, _, rest = name.partition(".")
                    at = f"{part}.layers.{i}."
                    if rest.startswith("in_proj"):
                        for letter, third in zip("qkv", p.chunk(3)):
                            tensors[f"{at}{PARTS[head]}.{letter}_proj.{rest[8:]}"] = third
                    else:
                        tensors[at + (norms[int(head[4]) - 1] if head.startswith("norm") else PARTS[head]) + "." + rest] = p
            if self.c["norm_first"]:
                for leaf, p in getattr(self, part + "_norm").named_parameters():
                    tensors[f"{part}.layer_norm.{leaf}"] = p
        return {k: v.detach().clone().contiguous() for k, v in tensors.items()}


def initialise(model, seed):
    g = torch.Generator().manual_seed(seed)
    for name, p in model.named_parameters():
        x = torch.randn(p.shape, generator=g)
        if "norm" in name and name.endswith("weight"):
            x = 1 + 0.2 * x
        elif p.ndim == 1:
            x = 0.2 * x + 0.05 * x.sign()
        else:
            x = (2 if name == "shared.weight" else 1.4) / math.sqrt(p.shape[1]) * x
        p.data = x


def greedy(model, source, start):
    memory, ids, margins = model.encode(source)[0][-1:], [start], []
    for _ in range(STEPS):
        best = model.decode(torch.tensor(ids), memory)[3][-1].topk(2)
        ids.append(best.indices[0].item())
        margins.append((best.values[0] - best.values[1]).item())
    return ids[1:], margins


def make(name, seed, **config):
    c = dict(architectures=["TransformerForConditionalGeneration"], model_type="transformer", d_model=32, num_heads=4, d_ff=48,
             num_encoder_layers=2, num_decoder_layers=2, vocab_size=97, activation_function="relu", norm_first=False, tie_word_embeddings=True,
             layer_norm_eps=1e-5, decoder_start_token_id=1, eos_token_id=2, max_position_embeddings=256) | config
    model = Transformer(c).eval()
    initialise(model, seed)
    g = torch.Generator().manual_seed(seed + 1)
    ids = lambda n: torch.randint(3, c["vocab_size"], (n,), generator=g)
    e, start = {}, torch.tensor([c["decoder_start_token_id"]])
    for i, (n, m) in enumerate(zip(LENGTHS, DECODER_LENGTHS)):
        source, target = ids(n), torch.cat([start, ids(m - 1)])
        encoded, encoder_attn = model.encode(source)
        decoded, own, cross, logits = model.decode(target, encoded[-1:])
        e |= {f"p{i}.input_ids": source, f"p{i}.decoder_input_ids": target, f"p{i}.logits": logits,
              f"p{i}.encoder_last_hidden": encoded[-1]}
    e |= {"p2.encoder_hidden": encoded, "p2.decoder_hidden": decoded, "p2.encoder_attn": encoder_attn,
          "p2.decoder_attn": own, "p2.cross_attn": cross}
    for _ in range(100):  # a prompt whose choices are clear
        prompt = ids(LENGTHS[1])
        drawn, margins = greedy(model, prompt, start.item())
        if min(margins) >= 0.01:
            break
    else:
        raise SystemExit(f"{name}: no prompt is continued clearly")
    e |= {"greedy.prompt_ids": prompt, "greedy.decoder_start": start, "greedy.ids": torch.tensor(drawn),
          "greedy.margin": torch.tensor(margins)}
    noise = {}
    for kind in (torch.float64, torch.float16, torch.bfloat16):
        other = Transformer(c).eval()
        other.load_state_dict(model.state_dict())
        other.to(kind)
        difference = (other.decode(target, other.encode(source)[0][-1:])[3].double() - logits.double()).abs()
        noise[{"float64": "f64", "float16": "f16", "bfloat16": "bf16"}[str(kind)[6:]]] = dict(
            max=float(f"{difference.max():.3g}"), rms=float(f"{difference.pow(2).mean().sqrt():.3g}"))
    folder = os.path.join(HERE, "models", name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    save_file(model.stored(), os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
    tensors = {k: (v.to(torch.int32) if not v.is_floating_point() else v.float()).detach().clone().contiguous() for k, v in e.items()}
    save_file(tensors, os.path.join(folder, "expected.safetensors"))
    for file, value in (("config.json", c), ("meta.json", dict(name=name, seed=seed, kind="encoder-decoder",
                        torch=torch.__version__, noise_p2_logits=noise))):
        with open(os.path.join(folder, file), "w") as f:
            json.dump(value, f, indent=1)
            f.write("\n")
    print(name, noise, drawn)


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    with torch.no_grad():
        make("transformer", 301, tie_word_embeddings=False)
        make("transformer_norm_first", 302, norm_first=True, num_encoder_layers=3, d_model=36, num_heads=3,
             activation_function="gelu")
