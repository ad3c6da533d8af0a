#!/usr/bin/env python3
"""Compares VANTAGE_BIN with transformers on random small models of every architecture (variants.py).

    apt-get install --no-install-recommends python3-torch python3-transformers python3-safetensors
    export VANTAGE_BIN=build/release/vantage
    python3 compare.py                       # 10 variants of every architecture
    python3 compare.py llama t5 --count 50   # of these
    python3 compare.py falcon --first 7 --count 1 --keep kept

A variant is determined by its number. Its folder has weights in f32, f16 or bf16, possibly in shards, and config.json
in the format of transformers 4 or 5. The reference is transformers' eager attention in f32, for a short and a long
prompt. Tolerance: 2e-4 for logits, 1e-3 for hidden states, 5e-5 for attention, times the largest value if that is above
1, plus four times the difference between transformers in f32 and f64. Exit code 1 if a variant differs or is rejected.
"""

import copy
import json
import os
import shlex
import subprocess
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file, save_file

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "data", "oracle"))
from make_models import (LastBlock, alibi_once, big_bird_attention, config_v4, initialise, load,  # noqa: E402
                         longformer_attention, mixes_experts)
from variants import ARCHITECTURES, Draw, run_variants  # noqa: E402

STEPS = 8  # greedy
CLEAR = 1e-2  # rounding cannot swap two logits that differ by this
ALLOWED = {"hidden": 1e-3, "attn": 5e-5}  # by the ending of a tensor's name; others 2e-4


def write_folder(folder, variant, r):
    """Writes config.json and weights; returns a description of the choices."""
    cls = getattr(transformers, variant.cls)
    model = cls(cls.config_class(**variant.config)).eval()
    own_head = variant.config.get("tie_word_embeddings") is False and (model.config.model_type != "t5" or r.flag())
    if own_head and model.get_output_embeddings() is not None:  # transformers 5 ties every T5 that it creates
        model.get_output_embeddings().weight = torch.nn.Parameter(model.get_input_embeddings().weight.clone())
    weight, bias = r.uniform(0.8, 1.4), r.choice([0.3, 1])
    initialise(model, r.randrange(1 << 30), {r"^(?!.*([Nn]orm|ln_)).*weight$": weight, "bias$": bias})
    dtype, shard, older = r.choice(["float32", "float16", "bfloat16"]), r.choice(["5GB", "40KB"]), r.flag()
    model.to(getattr(torch, dtype)).save_pretrained(folder, max_shard_size=shard)
    path = os.path.join(folder, "config.json")
    with open(path) as f:
        config = json.load(f)
    if older:
        config = config_v4(config, dict(cls=variant.cls, drop=variant.drop, v4=variant.v4))
        if config.get("rope_scaling") and r.flag():
            config["rope_scaling"]["type"] = config["rope_scaling"].pop("rope_type")
    defaults = cls.config_class().to_dict()
    short = r.flag()  # omit fields with default values, except sizes and fields that defaults depend on
    needed = ("model_type", "hidden_size", "n_layer", "n_head", "head_dim", "num_key_value_heads")
    config = {k: v for k, v in config.items() if not short or k in needed or k not in defaults or defaults[k] != v}
    with open(path, "w") as f:
        json.dump(config, f, indent=1)
    words = [dtype] + ["shards"] * (shard != "5GB") + ["older spelling"] * older + ["without defaults"] * short
    return f"{variant.cls}, {', '.join(words)}"


def inputs_for(model, r, n):
    """The model's arguments for n tokens, and those of vantage inspect."""
    c = model.config
    first = 0 if c.model_type in ("roberta", "longformer") else 3  # their positions depend on padding tokens
    ids = lambda count, vocab: torch.tensor([[r.randrange(first, vocab) for _ in range(count)]], dtype=torch.long)
    text = lambda t: ",".join(map(str, t[0].tolist()))
    if c.model_type == "vit":
        size = model.base_model.embeddings.image_size
        return dict(pixel_values=torch.tensor([r.gauss(0, 1) for _ in range(c.num_channels * size[0] * size[1])]).view(1, c.num_channels, *size)), []
    given = dict(input_ids=ids(n, c.vocab_size))
    arguments = ["--ids", text(given["input_ids"])]
    if c.is_encoder_decoder:
        start = torch.tensor([[c.decoder_start_token_id]])
        given["decoder_input_ids"] = torch.cat([start, ids(r.randint(0, n), c.vocab_size)], 1)
        arguments += ["--decoder-ids", text(given["decoder_input_ids"])]
    if getattr(c, "type_vocab_size", 0) > 1 and r.flag():
        given["token_type_ids"] = torch.tensor([[r.randrange(c.type_vocab_size) for _ in range(n)]])
        arguments += ["--type-ids", text(given["token_type_ids"])]
    if c.model_type == "longformer":
        count = int(type(model).__name__.endswith("Classification"))  # by itself
        if r.flag():
            count = r.choice([1, min(3, n)])
            arguments += ["--global-tokens", str(count)]
        if count > 0:
            given["global_attention_mask"] = (torch.arange(n) < count).long()[None]
    return given, arguments


def reference(model, given):
    """The results of transformers, with the names and shapes of vantage inspect --save."""
    c = model.config
    extra = dict(output_router_logits=True) if mixes_experts(model) else {}
    # transformers 5.12.1 cannot cache a Jamba whose layers all attend, or none
    uncached = dict(use_cache=False) if model.can_generate() else {}
    given = {k: v.to(model.dtype) if v.is_floating_point() else v for k, v in given.items()}
    if c.model_type == "big_bird":
        model = copy.deepcopy(model)  # a short text turns its blocks off for good
        if given["input_ids"].shape[1] <= (5 + 2 * c.num_random_blocks) * c.block_size:
            model.base_model.set_attention_type("original_full")  # by itself it does not record its attention then
    if c.is_encoder_decoder:
        out = model(**given, use_cache=False, output_hidden_states=True, output_attentions=True)
        e = {f"{part}_{what}": torch.cat(out[f"{part}_{key}"]) for part in ("encoder", "decoder")
             for what, key in (("hidden", "hidden_states"), ("attn", "attentions"))}
        return e | dict(logits=out.logits[0], cross_attn=torch.cat(out.cross_attentions), encoder_last_hidden=out.encoder_last_hidden_state[0])
    with LastBlock(model) as last:
        out = model(**given, output_hidden_states=True, output_attentions=True, **extra, **uncached)
    hidden = list(out.hidden_states)
    if c.model_type == "big_bird":
        hidden = [h[:, : given["input_ids"].shape[1]] for h in hidden]  # without padding
    if c.model_type == "vit":
        hidden[-1] = last.output
    elif hidden[-1].shape != hidden[0].shape:  # OPT projects to another width
        norm = model.base_model.decoder.final_layer_norm
        hidden[-1] = norm(last.output) if norm is not None else last.output
    e = dict(hidden=torch.cat(hidden))
    logits = out.get("logits", out.get("prediction_logits"))
    if logits is not None:
        e["logits"] = logits[0]
    if c.model_type == "longformer":
        if "global_attention_mask" in given and given["global_attention_mask"].sum() == 1:
            e["attn"] = longformer_attention(out, c, given["input_ids"].shape[1])
    elif c.model_type == "big_bird":
        e["attn"] = big_bird_attention(out, c, given["input_ids"].shape[1])
    else:
        if out.attentions:  # none where no layer attends
            e["attn"] = torch.cat(out.attentions)
    if extra and out.router_logits:
        e["router_logits"] = torch.stack(out.router_logits)
    if not model.can_generate():
        base = model.base_model(**given)
        e["last_hidden"] = base.last_hidden_state[0]
        e["mean_pooled"] = e["last_hidden"].mean(0)
        pooled = base.get("pooler_output")
        if pooled is not None and not variant_has_no_pooler(model):
            e["pooler_output"] = pooled[0]
    if out.get("seq_relationship_logits") is not None:
        e["seq_relationship_logits"] = out.seq_relationship_logits[0]
    return e


def variant_has_no_pooler(model):
    """Heads that leave the pooler of their base model unused."""
    return type(model).__name__.endswith("ForMaskedLM") or model.config.model_type == "vit" and type(model).__name__ != "ViTModel"


def greedy(model, given):
    """Greedy next tokens, up to the first one without a clear margin."""
    given, tokens = dict(given), []
    key = "decoder_input_ids" if model.config.is_encoder_decoder else "input_ids"
    for _ in range(STEPS):
        best = model(**given, use_cache=False).logits[0, -1].topk(2)
        if best.values[0] - best.values[1] < CLEAR:
            break
        tokens.append(best.indices[0].item())
        given[key] = torch.cat([given[key], best.indices[:1][None]], 1)
    return tokens


def run_vantage(folder, arguments, given):
    """The tensors saved by vantage inspect, or its error message."""
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "out.safetensors")
        if "pixel_values" in given:
            save_file({"pixel_values": given["pixel_values"]}, os.path.join(scratch, "image.safetensors"))
            arguments = [*arguments, "--image", os.path.join(scratch, "image.safetensors")]
        command = shlex.split(os.environ["VANTAGE_BIN"]) + ["inspect", "-m", folder, *arguments, "--save", out]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            return f"exit code {done.returncode}: {done.stderr.strip()}"
        return load_file(out)


def differences(got, want, precise):
    """The tensors that differ by more than the tolerance."""
    if isinstance(got, str):
        return [got]
    found = []
    for name, expected in want.items():
        if name not in got:
            found.append(f"{name} is missing")
        elif got[name].numel() != expected.numel():
            found.append(f"{name} is {list(got[name].shape)}, not {list(expected.shape)}")
        else:
            distance = (got[name].reshape(expected.shape) - expected).abs().max().item()
            noise = (expected.double() - precise[name].double()).abs().max().item()
            base = next((v for end, v in ALLOWED.items() if name.endswith(end)), 2e-4)
            if not distance <= base * max(1, expected.abs().max().item()) + 4 * noise:
                found.append(f"{name} differs by {distance:.2g} of {expected.abs().max().item():.2g} (noise {noise:.1g})")
    return found


def longest(c):
    """The maximum length of the long prompt."""
    context = getattr(c, "max_position_embeddings", None) or 70
    if c.model_type in ("roberta", "longformer"):
        context -= c.pad_token_id + 1
    return min(context, 70)


def check(name, number, folder):
    r = Draw(f"{name} {number}")
    variant = ARCHITECTURES[name](r)
    words = write_folder(folder, variant, r)
    cls = getattr(transformers, variant.cls)
    model, double = load(cls, folder), load(cls, folder, torch.float64)
    most = longest(model.config)
    lengths = [0] if name == "vit" else [r.choice([1, 1, 2, 5]), r.choice([most, r.randint(20, most)])]
    found = []
    for n in lengths:
        given, arguments = inputs_for(model, r, n)
        follows = greedy(model, given) if n == lengths[0] and model.can_generate() else []
        got = run_vantage(folder, arguments + (["--greedy", str(STEPS)] if follows else []), given)
        these = differences(got, reference(model, given), reference(double, given))
        if follows and not isinstance(got, str) and got["greedy.ids"][: len(follows)].tolist() != follows:
            these.append(f"greedy {got['greedy.ids'].tolist()}, not {follows}")
        found += [f"{n} tokens: {one}" for one in these]
    print(f"{name} {number}: {words}: {'; '.join(found) or 'ok'}", flush=True)
    if found:
        print("   ", json.dumps(variant.config), flush=True)
    return not found


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    alibi_once()
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    run_variants(__doc__, ARCHITECTURES, 10, check)
