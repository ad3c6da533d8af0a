#!/usr/bin/env python3
"""Figures of PyTorch on CUDA, else on the CPU, as JSON for compare.py.

    python3 pytorch.py ops                        matrix products, attention and norms in f32
    python3 pytorch.py model {f32|f16|q8}         shape of GPT-2 small: pp512 and tg64 (not in q8)
    python3 pytorch.py train SHAPE N TOKENS STEPS WARM
                                                  steps of training it, or the shape mini-world, with AdamW in f32: N
                                                  sequences of TOKENS tokens
    python3 pytorch.py processes SHAPE …          the same on the CPU by two processes of one thread, which have half of
                                                  the sequences each and average their gradients
"""
import json
import os
import statistics
import sys
import tempfile
import time

import torch

from work import WORK

CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda" if CUDA else "cpu")
torch.set_grad_enabled(False)


def seconds(work, least=0.3, repeats=5):
    """median of several measurements, each long enough for the clock"""
    def timed(count):
        begin = time.perf_counter()
        for _ in range(count):
            work()
        if CUDA:
            torch.cuda.synchronize()
        return (time.perf_counter() - begin) / count
    timed(1)
    count = max(1, round(least / max(timed(1), 1e-7)))
    return statistics.median(timed(count) for _ in range(repeats))


def ops():
    def random(*shape):
        return torch.randn(*shape, device=DEVICE)

    functions = torch.nn.functional
    a, b, c, d = random(512, 512), random(512, 512), random(1024, 1024), random(1024, 1024)
    square, row = random(4096, 4096), random(1, 4096)
    q, k, v = (random(1, 8, 1024, 128) for _ in range(3))
    x, tall, y, gain, bias = random(1024, 4096), random(4096, 1024), random(8, 1024, 1024), random(4096), random(4096)
    calls = {
        "matmul 512^3": lambda: functions.linear(a, b),
        "matmul 1024^3": lambda: functions.linear(c, d),
        "matmul matvec 4096^2": lambda: functions.linear(row, square),
        "attention 8 heads d128 n1024": lambda: functions.scaled_dot_product_attention(q, k, v),
        "attention 8 heads d128 n1024 causal": lambda: functions.scaled_dot_product_attention(q, k, v, is_causal=True),
        "layer_norm 1024x4096": lambda: functions.layer_norm(x, (4096,), gain, bias),
        "rms_norm 1024x4096": lambda: functions.rms_norm(x, (4096,), gain),
        "add 4096x1024": lambda: tall + tall,
        "softmax 8x1024x1024": lambda: torch.softmax(y, -1),
    }
    return {name: 1e-9 * WORK[name] / seconds(call) for name, call in calls.items()}


class Gpt2(torch.nn.Module):
    """the forward pass alone, keys and values kept in place"""

    def __init__(self, dtype, width=768, layers=12, heads=12, vocabulary=50257, context=1024):
        super().__init__()
        def random(*shape):
            return 0.02 * torch.randn(*shape, device=DEVICE, dtype=dtype)
        self.heads, self.width = heads, width
        self.tokens, self.places = random(vocabulary, width), random(context, width)
        shapes = {"qkv": (3 * width, width), "out": (width, width), "up": (4 * width, width), "down": (width, 4 * width)}
        self.blocks = [{name: (random(*shape), random(shape[0])) for name, shape in shapes.items()} for _ in range(layers)]
        self.cache = torch.zeros(layers, 2, heads, context, width // heads, device=DEVICE, dtype=dtype)

    def forward(self, ids, first):
        f, count = torch.nn.functional, len(ids)
        x = self.tokens[ids] + self.places[first:first + count]
        for block, cache in zip(self.blocks, self.cache):
            parts = f.linear(f.layer_norm(x, (self.width,)), *block["qkv"]).view(count, 3, self.heads, -1)
            q, k, v = parts.permute(1, 2, 0, 3)
            cache[0, :, first:first + count], cache[1, :, first:first + count] = k, v
            keys, values = cache[:, None, :, :first + count]
            seen = f.scaled_dot_product_attention(q[None], keys, values, is_causal=count > 1)[0]
            x = x + f.linear(seen.transpose(0, 1).reshape(count, -1), *block["out"])
            inner = f.gelu(f.linear(f.layer_norm(x, (self.width,)), *block["up"]), approximate="tanh")
            x = x + f.linear(inner, *block["down"])
        return (f.layer_norm(x[-1:], (self.width,)) @ self.tokens.T).argmax(-1)


def model(weights):
    types = {"f32": torch.float32, "f16": torch.float16}
    if weights not in types:
        return {}
    gpt2 = Gpt2(types[weights])
    prompt = torch.randint(50257, (512,), device=DEVICE)

    def draw():
        token = prompt[:1]
        for place in range(64):
            token = gpt2(token, place)
    return {"pp512": 512 / seconds(lambda: gpt2(prompt, 0), repeats=1), "tg64": 64 / seconds(draw, repeats=1)}


class TrainedGpt2(torch.nn.Module):
    """GPT-2 with parameters, and the loss of a batch"""

    def __init__(self, width, layers, heads, vocabulary, context):
        super().__init__()
        nn = torch.nn
        self.heads, self.vocabulary = heads, vocabulary
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(nn.ModuleDict({
            "norm": nn.LayerNorm(width), "qkv": nn.Linear(width, 3 * width), "out": nn.Linear(width, width),
            "second": nn.LayerNorm(width), "up": nn.Linear(width, 4 * width), "down": nn.Linear(4 * width, width),
        }) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, ids):
        f, (count, length) = torch.nn.functional, ids[:, :-1].shape
        x = self.tokens(ids[:, :-1]) + self.places.weight[:length]
        for block in self.blocks:
            q, k, v = block["qkv"](block["norm"](x)).view(count, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            seen = f.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + block["out"](seen.transpose(1, 2).reshape(count, length, -1))
            x = x + block["down"](f.gelu(block["up"](block["second"](x)), approximate="tanh"))
        logits = self.norm(x) @ self.tokens.weight.T
        return f.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


TRAINED = {"gpt2-small": (768, 12, 12, 50257, 1024), "mini-world": (128, 4, 8, 2048, 256)}


@torch.enable_grad()
def train(shape, *numbers):
    """as `vantage bench train`: drawn tokens, gradients scaled to norm 1, AdamW; tokens/s by the median step"""
    sequences, tokens, steps, warm_up = map(int, numbers)
    processes = torch.distributed.get_world_size() if torch.distributed.is_initialized() else 1
    gpt2 = TrainedGpt2(*TRAINED[shape]).to(DEVICE)
    optimiser = torch.optim.AdamW(gpt2.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    taken = []
    for step in range(warm_up + steps):
        ids = torch.randint(gpt2.vocabulary, (sequences // processes, tokens + 1), device=DEVICE)
        begin = time.perf_counter()
        optimiser.zero_grad()
        loss = gpt2(ids)
        loss.backward()
        if processes > 1:
            for parameter in gpt2.parameters():
                torch.distributed.all_reduce(parameter.grad)
                parameter.grad /= processes
        torch.nn.utils.clip_grad_norm_(gpt2.parameters(), 1.0)
        optimiser.step()
        loss.item()  # waits
        if step >= warm_up:
            taken.append(time.perf_counter() - begin)
    return {f"{sequences} × {tokens}": sequences * tokens / statistics.median(taken)}


def one_of_two(rank, meeting, answer, *arguments):
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    figures = train(*arguments)
    if rank == 0:
        with open(answer, "w") as file:
            json.dump(figures, file)


def processes(*arguments):
    if int(arguments[1]) % 2:
        sys.exit("processes: N must be even")
    with tempfile.TemporaryDirectory() as folder:
        answer = os.path.join(folder, "answer")
        torch.multiprocessing.spawn(one_of_two, (os.path.join(folder, "meeting"), answer, *arguments), nprocs=2)
        with open(answer) as file:
            return json.load(file)


def main(what, *rest):
    figures = {"ops": ops, "model": model, "train": train, "processes": processes}[what](*rest)
    name = torch.cuda.get_device_name() if CUDA else f"CPU, {torch.get_num_threads()} threads"
    print(json.dumps({"device": f"PyTorch {torch.__version__}, {name}", **figures}))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
