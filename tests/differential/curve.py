#!/usr/bin/env python3
"""Compares a longer run of VANTAGE_BIN with PyTorch's: a model of Mini-world's shape learns its corpus for 500 steps.

    apt-get install --no-install-recommends python3-torch python3-transformers python3-safetensors
    export VANTAGE_BIN=build/release/vantage
    python3 curve.py               # minutes
    python3 curve.py --steps 100
    python3 curve.py --keep kept   # the recording, for vantage conform --training

Both begin with the same weights and see the same sequences, with AdamW, warm-up, a cosine schedule and clipping in f32.
Rounding errors grow from step to step: the first 20 losses may differ by 1e-4 of the loss, and later ones by 0.5 % in the
mean of 20 steps. Exit code 1 if they differ by more.
"""

import argparse
import gzip
import json
import os
import shlex
import subprocess
import sys
import tempfile

import torch
import transformers

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from train import Task, record  # noqa: E402

MINI = os.path.join(HERE, "..", "..", "assets", "models", "mini-world")
EXACT, WINDOW = 20, 20


class Corpus(Task):
    """Batches of Mini-world's corpus, at random places."""

    def __init__(self, config, steps, sequences, tokens):
        self.config, self.sequences, self.accumulate, self.smoothing, self.pairs = config, sequences, 1, 0, False
        tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=os.path.join(MINI, "tokenizer.json"))
        with gzip.open(os.path.join(MINI, "train_sample.txt.gz"), "rt") as f:
            ids = torch.tensor(tokenizer(f.read())["input_ids"])
        places = torch.randint(len(ids) - tokens, (steps, sequences, 1), generator=torch.Generator().manual_seed(1))
        self.data = dict(tokens=ids[places + torch.arange(tokens + 1)])


def means(values):
    return [sum(values[i:i + WINDOW]) / WINDOW for i in range(len(values) - WINDOW + 1)]


def worst(got, want):
    return max(abs(a - b) / b for a, b in zip(got, want, strict=True))


def compare(steps, sequences, tokens, folder):
    config = transformers.AutoConfig.from_pretrained(MINI)
    config._attn_implementation = "eager"
    torch.manual_seed(1)
    model = transformers.GPT2LMHeadModel(config).float()
    hyper = dict(steps=steps, batch=sequences, lr=2e-3, warmup=steps // 10, schedule="cosine", total=steps, min_lr=2e-4, betas=[0.9, 0.95],
                 eps=1e-8, weight_decay=0.1, clip=1.0, clip_eps=1e-6, label_smoothing=0, accumulate=1)
    want = record(model, Corpus(config, steps, sequences, tokens), hyper, folder)
    command = shlex.split(os.environ["VANTAGE_BIN"]) + ["conform", "--training", folder, "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 7):  # 7: a single step or parameter differs, as they may after so many steps
        sys.exit(f"exit code {done.returncode}: {done.stderr.strip()}")
    got = [step["loss"] for step in json.loads(done.stdout)["steps"]]
    first, later = worst(got[:EXACT], want[:EXACT]), worst(means(got), means(want))
    print(f"{steps} steps of {sequences} × {tokens} tokens: loss {want[0]:.4f} to {want[-1]:.4f}, Vantage {got[0]:.4f} to {got[-1]:.4f}; "
          f"the first {EXACT} steps differ by {first:.1e} at most, means of {WINDOW} by {later:.1e}")
    return first < 1e-4 and later < 5e-3


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--keep", metavar="FOLDER")
    options = parser.parse_args()
    if options.steps < WINDOW:
        parser.error(f"--steps must be at least {WINDOW}")
    transformers.utils.logging.set_verbosity_error()
    with tempfile.TemporaryDirectory() as scratch:
        if options.keep:
            os.makedirs(options.keep)
        sys.exit(not compare(options.steps, 4, 128, options.keep or scratch))
