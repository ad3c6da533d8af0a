#!/usr/bin/env python3
"""Compares the training of VANTAGE_BIN with PyTorch's on random small models of every architecture (variants.py).

    apt-get install --no-install-recommends python3-torch python3-transformers python3-safetensors
    export VANTAGE_BIN=build/release/vantage
    python3 train.py                         # 3 variants of every architecture
    python3 train.py llama clip --count 20   # of these
    python3 train.py bert --first 7 --count 1 --keep kept

A variant is determined by its number. PyTorch trains it for four steps of AdamW in f32 and writes the recording that
`vantage conform --training` reads: models before and after, batches, gradients of the first step, losses and norms.
Batch size, accumulation, label smoothing, weight decay and clipping are random, too. If PyTorch's gradients in f32 and
f64 differ by more than 1/50 of the tolerance, another model is drawn. Exit code 1 if a variant differs or is rejected.
"""

import json
import math
import os
import shlex
import subprocess
import sys

import torch
import transformers
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "data", "oracle"))
from make_models import alibi_once, initialise, mixes_experts  # noqa: E402
from variants import ARCHITECTURES, Draw, Variant, run_variants  # noqa: E402

STEPS = 4
MODELS = os.path.join(HERE, "..", "data", "oracle", "models")


def of_folder(cls, name):
    """A variant whose configuration is that of a model of tests/data."""
    def draw(_):
        with open(os.path.join(MODELS, name, "config.json")) as f:
            return Variant(cls, json.load(f))
    return draw


TRAINED = ARCHITECTURES | dict(clip=of_folder("CLIPModel", "clip"),
                               vit_gpt2=of_folder("VisionEncoderDecoderModel", "vit_gpt2"))


def drawn_model(name, r):
    """A model with an output layer that learns."""
    while True:
        variant = TRAINED[name](r)
        head = any(word in variant.cls for word in ("LM", "PreTraining", "Classification", "Conditional", "CLIP", "VisionEnc"))
        if head and variant.config.get("num_labels", 2) > 1:
            break
    cls = getattr(transformers, variant.cls)
    config = variant.config
    config = cls.config_class.from_dict(config) if name in ("clip", "vit_gpt2") else cls.config_class(**config)
    if name == "big_bird":  # Vantage trains block-sparse attention only where all tokens see all
        config.attention_type = "original_full"
    config._attn_implementation = config._experts_implementation = "eager"
    if "router_aux_loss_coef" in config.to_dict():
        config.router_aux_loss_coef = r.choice([0.02, 1.0])
    model = cls(config).eval()
    if mixes_experts(model):  # of a Jamba without experts there is no such loss
        config.output_router_logits = r.flag()
    initialise(model, r.randrange(1 << 30), {})
    return model


def image_shape(config):
    """[channels, height, width] of a model's images; None where it sees none."""
    vision = {"vit": config, "clip": getattr(config, "vision_config", None),
              "vision-encoder-decoder": getattr(config, "encoder", None)}.get(config.model_type)
    if vision is None:
        return None
    size = vision.image_size
    return [vision.num_channels, *(size if isinstance(size, (list, tuple)) else (size, size))]


class Task:
    """Batches [steps, sequences, …] of a model, and the sum of the losses of some of their sequences."""

    def __init__(self, model, r):
        c = self.config = model.config
        self.sequences, self.accumulate = r.choice([2, 3, 4]), 1
        self.pairs = c.model_type == "clip"
        if not self.pairs and r.flag(0.3):
            self.sequences, self.accumulate = 4, 2
        self.smoothing = 0 if self.pairs else r.choice([0, 0, 0.1])
        self.draw, self.data = r, {}
        cls = type(model).__name__
        vocab = (c.decoder if cls.startswith("VisionEnc") else c.text_config if self.pairs else c)
        if cls.startswith(("ViT", "VisionEnc", "CLIP")):
            g = torch.Generator().manual_seed(r.randrange(1 << 30))
            self.data["pixel_values"] = torch.randn(STEPS, self.sequences, *image_shape(c), generator=g)
        n = r.randint(2, 20)
        if self.pairs:
            ids = self.ids(vocab.vocab_size - 1, n)
            ids[..., -1] = vocab.eos_token_id
            self.data["input_ids"] = ids
        elif c.is_encoder_decoder or cls.startswith("VisionEnc"):
            m = r.randint(1, 12)
            if "pixel_values" not in self.data:
                self.data["input_ids"] = self.ids(vocab.vocab_size, n)
            self.data["decoder_input_ids"] = self.ids(vocab.vocab_size, m)
            self.data["labels"] = self.some(self.ids(vocab.vocab_size, m))
        elif "Classification" in cls:
            if "pixel_values" not in self.data:
                self.data["input_ids"] = self.ids(vocab.vocab_size, n)
            self.data["labels"] = self.ids(c.num_labels, first=0)
        elif model.can_generate() and "Masked" not in cls and "PreTraining" not in cls:
            self.data["tokens"] = self.ids(vocab.vocab_size, n + 1)
        else:
            self.data["input_ids"] = self.ids(vocab.vocab_size, n)
            self.data["labels"] = self.some(self.ids(vocab.vocab_size, n))

    def ids(self, below, *row, first=3):
        count = STEPS * self.sequences * (row[0] if row else 1)
        drawn = [self.draw.randrange(first, below) for _ in range(count)]
        return torch.tensor(drawn).view(STEPS, self.sequences, *row)

    def some(self, labels):
        """Of each sequence's labels some are no targets."""
        none = torch.tensor([self.draw.flag(0.4) for _ in range(labels.numel())]).view(labels.shape)
        none[..., 0] = False
        return labels.masked_fill(none, -100)

    def targets(self, step):
        labels = self.data["tokens"][step][:, 1:] if "tokens" in self.data else self.data["labels"][step]
        return (labels >= 0).sum().item()

    def loss(self, model, step, micro):
        each = self.sequences // self.accumulate
        batch = {name: values[step, micro * each : (micro + 1) * each] for name, values in self.data.items()}
        batch = {name: x.to(model.dtype) if x.is_floating_point() else x for name, x in batch.items()}
        if self.pairs:
            return model(**batch, return_loss=True).loss
        if "tokens" in batch:
            tokens = batch.pop("tokens")
            batch["input_ids"], labels = tokens[:, :-1], tokens[:, 1:]
        else:
            labels = batch.pop("labels")
        uncached = dict(use_cache=False) if model.can_generate() else {}
        out = model(**batch, **uncached)
        logits = out.get("logits", out.get("prediction_logits"))
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1).long(),
                                                 label_smoothing=self.smoothing, reduction="sum") / self.targets(step)
        if out.get("aux_loss") is not None:
            loss = loss + self.config.router_aux_loss_coef * out.aux_loss / self.accumulate
        return loss


def gradients(model, task, step):
    """The loss of a step; gradients are in the parameters."""
    model.zero_grad()
    total = 0
    for micro in range(task.accumulate):
        loss = task.loss(model, step, micro)
        loss.backward()
        total += loss.item()
    return total


def named(model):
    """Parameters that learn, by the names of transformers; tied ones once."""
    return {name: p for name, p in model.named_parameters() if p.grad is not None}


def is_reference(model, task):
    """Whether f32 says what f64 does."""
    double = type(model)(model.config).double().eval()
    double.load_state_dict({name: x.double() if x.is_floating_point() else x for name, x in model.state_dict().items()})
    gradients(model, task, 0), gradients(double, task, 0)
    for (name, p), q in zip(named(model).items(), named(double).values()):
        if (p.grad - q.grad).abs().max() > (1e-5 + 1e-3 * q.grad.abs().max()) / 50:
            return False
    return True


def learning_rate(hyper, s):
    """Of step s = 1, 2, …, as the schedules of `vantage conform --training` have it."""
    w, peak = hyper["warmup"], hyper["lr"]
    if s <= w:
        return peak * s / w
    passed = min(1, (s - w) / (hyper["total"] - w))
    return {"constant": peak, "linear": peak * (1 - passed), "inverse_sqrt": peak * math.sqrt(max(w, 1) / s),
            "cosine": hyper["min_lr"] + (peak - hyper["min_lr"]) * (1 + math.cos(math.pi * passed)) / 2}[hyper["schedule"]]


def drawn_hyper(task, r):
    """Settings of a short run."""
    return dict(steps=STEPS, batch=task.sequences, lr=1e-3, warmup=r.choice([0, 2]),
                schedule=r.choice(["constant", "linear", "cosine", "inverse_sqrt"]), total=STEPS + r.choice([0, 3]),
                min_lr=1e-4, betas=[0.9, r.choice([0.95, 0.98])], eps=r.choice([1e-6, 1e-8]), weight_decay=r.choice([0, 0.05]), clip=r.choice([0, 1.0]),
                clip_eps=1e-6, label_smoothing=task.smoothing, accumulate=task.accumulate)


def record(model, task, hyper, folder):
    """Trains the model and writes the recording. Returns the loss of each step."""
    model.save_pretrained(os.path.join(folder, "init"))
    save_file({name: x.contiguous() if x.is_floating_point() else x.int() for name, x in task.data.items()},
              os.path.join(folder, "data.safetensors"))
    gradients(model, task, 0)
    learned = named(model)
    save_file({name: p.grad.clone() for name, p in learned.items()}, os.path.join(folder, "grads0.safetensors"))
    groups = [dict(params=[p for p in learned.values() if (p.ndim >= 2) == decays], weight_decay=hyper["weight_decay"] * decays)
              for decays in (True, False)]
    optimizer = torch.optim.AdamW(groups, lr=hyper["lr"], betas=hyper["betas"], eps=hyper["eps"])
    losses, norms = [], []
    for step in range(hyper["steps"]):
        losses.append(gradients(model, task, step))
        norm = torch.sqrt(sum((p.grad.double() ** 2).sum() for p in learned.values())).item()
        norms.append(norm)
        if hyper["clip"] > 0:
            for p in learned.values():
                p.grad *= min(1, hyper["clip"] / (norm + hyper["clip_eps"]))
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(hyper, step + 1)
        optimizer.step()
    model.save_pretrained(os.path.join(folder, "final"))
    with open(os.path.join(folder, "train.json"), "w") as f:
        json.dump({"class": type(model).__name__, "hyper": hyper, "loss": losses, "grad_norm": norms}, f, indent=1)
    return losses


def check(name, number, folder):
    r = Draw(f"train {name} {number}")
    for _ in range(20):
        model = drawn_model(name, r)
        task = Task(model, r)
        if is_reference(model, task):
            break
    else:
        raise ValueError("f32 is no reference for any of 20 models")
    record(model, task, drawn_hyper(task, r), folder)
    command = shlex.split(os.environ["VANTAGE_BIN"]) + ["conform", "--training", folder, "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    words = f"{type(model).__name__}, {task.accumulate} × {task.sequences // task.accumulate}"
    if done.returncode != 0:
        print(f"{name} {number}: {words}: exit code {done.returncode}: {done.stderr.strip() or done.stdout.strip()}", flush=True)
        print("   ", json.dumps(model.config.to_diff_dict()), flush=True)
        return False
    report = json.loads(done.stdout)
    print(f"{name} {number}: {words}: gradients {report['grads0_error']:.1e}, end {report['final_error']:.1e}: ok", flush=True)
    return True


if __name__ == "__main__":
    torch.set_num_threads(1)
    alibi_once()
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    run_variants(__doc__, TRAINED, 3, check)
