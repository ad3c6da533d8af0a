#!/usr/bin/env python3
"""Makes recurrent_ops/, cases of the op `recurrent` from torch.nn.RNN, LSTM and GRU in double, and the folders
models/seq2seq_* and models/recurrent_*: recurrent models in small, under the config.json and the tensor names that
docs/models.md gives them, with the values that torch's modules compute.

The encoder and the layers of a language model are whole torch modules. A decoder's attention is between its steps, so
torch runs it row by row: the layers as a module with a sequence of one row, the attention by the papers' formulas.

    apt-get install --no-install-recommends python3-torch python3-safetensors
    python3 make_recurrent.py

Formats: README.md, sections 1 and 3. The files here were made with torch 2.14.1.
"""

import json
import math
import os
import shutil

import torch
from safetensors.torch import save_file
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
LENGTHS, DECODER_LENGTHS, STEPS = (1, 17, 61), (1, 9, 23), 20
CELLS = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}


# ---- the op ---------------------------------------------------------------------------------------------------------


def op_cases():
    tensors, cases = {}, []
    g = torch.Generator().manual_seed(401)

    def case(name, cell, rows, width, units, reverse=False, state=True, bias=True):
        layer = CELLS[cell](width, units, bias=bias, bidirectional=reverse).double()
        for p in layer.parameters():
            p.data = (torch.randn(p.shape, generator=g) / math.sqrt(units)).float().double()
        end = "_l0_reverse" if reverse else "_l0"
        x = torch.randn(rows, width, generator=g).double()
        h0, c0 = (torch.randn(1, units, generator=g).float().double() * state for _ in range(2))
        first = tuple(s.repeat(2 if reverse else 1, 1) for s in ((h0, c0) if cell == "lstm" else (h0,)))
        out = layer(x, first if cell == "lstm" else first[0])[0][:, -units:]
        # torch gives the cell state of the last row only: that of each row is the last of a shorter sequence
        parts = [x[i:] if reverse else x[: i + 1] for i in range(rows)]
        products = x @ getattr(layer, "weight_ih" + end).T + (getattr(layer, "bias_ih" + end) if bias else 0)
        inputs = {"x": products, "w": getattr(layer, "weight_hh" + end)}
        if bias:
            inputs["b"] = getattr(layer, "bias_hh" + end)
        if state:
            inputs |= {"h0": h0, "c0": c0} if cell == "lstm" else {"h0": h0}
        outputs = {"h": out}
        if cell == "lstm":
            outputs["c"] = torch.cat([layer(part, first)[1][1][-1:] for part in parts])
        keys = {}
        for kind, group in (("in", inputs), ("out", outputs)):
            keys[kind] = {}
            for argument, value in group.items():
                keys[kind][argument] = f"{name}/{kind}/{argument}"
                tensors[keys[kind][argument]] = value.detach().float().contiguous()
        cases.append({"name": name, "op": "recurrent", "attrs": {"cell": cell, "reverse": reverse}, "inputs": keys["in"],
                      "outputs": keys["out"], "note": f"torch.nn.{CELLS[cell].__name__}; x: the products with its input weights"})

    for cell in CELLS:
        case(cell, cell, 13, 10, 12)
        case(cell + "_reverse", cell, 7, 9, 33, reverse=True)
        case(cell + "_from_zeros_without_bias", cell, 40, 20, 20, state=False, bias=False)
        case(cell + "_one_row", cell, 1, 24, 60)
    folder = os.path.join(HERE, "recurrent_ops")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    save_file(tensors, os.path.join(folder, "ops.safetensors"))
    with open(os.path.join(folder, "ops.json"), "w") as f:
        json.dump({"seed": 401, "cases": cases}, f, indent=1)
        f.write("\n")


# ---- models ---------------------------------------------------------------------------------------------------------


class Recurrent(nn.Module):
    """Both models: without an encoder the language model. Its parameters have the names that docs/models.md gives."""

    def __init__(self, c):
        super().__init__()
        self.c, cell = c, CELLS[c["cell"]]
        width, embedding = c["hidden_size"], c["embedding_size"]
        self.embed_tokens = nn.Embedding(c["vocab_size"], embedding)
        fed = 0
        if c["model_type"] == "seq2seq":
            units, both = c["encoder_hidden_size"], c["bidirectional"]
            encoded = units * (2 if both else 1)
            self.encoder = nn.ModuleDict({"rnn": cell(embedding, units, c["num_layers"], bidirectional=both)})
            kinds = ("h", "c") if c["cell"] == "lstm" else ("h",)
            if c["bridge"] == "dense":
                self.bridge = nn.ModuleDict({k: nn.ModuleList(nn.Linear(encoded, width) for _ in range(c["num_layers"])) for k in kinds})
            kind, size = c["attention"], c["attention_size"]
            additive = kind in ("bahdanau", "concat")
            if kind != "none":
                parts = {}
                if additive:
                    parts |= {"query": nn.Linear(width, size, bias=False), "score": nn.Linear(size, 1, bias=False)}
                if kind != "dot":
                    parts["key"] = nn.Linear(encoded, size if additive else width, bias=additive)
                self.attention = nn.ModuleDict(parts)
                self.combine = nn.Linear(encoded + width, width)
            fed = encoded if kind == "bahdanau" else width if c["input_feeding"] else 0
            self.decoder = nn.ModuleDict({"rnn": cell(embedding + fed, width, c["num_layers"])})
        else:
            self.rnn = cell(embedding, width, c["num_hidden_layers"])
        self.lm_head = nn.Linear(width, c["vocab_size"])
        if c["tie_word_embeddings"]:
            self.lm_head.weight = self.embed_tokens.weight

    def layers_of(self, module, x):
        """The outputs of each layer of a whole module: those of modules with the first layers only."""
        found = []
        for layers in range(1, module.num_layers + 1):
            part = type(module)(module.input_size, module.hidden_size, layers, bidirectional=module.bidirectional).to(x.dtype)
            part.load_state_dict({k: v for k, v in module.state_dict().items() if k in part.state_dict()})
            found.append(part(x)[0])
        return found

    def encode(self, ids):
        """(the hidden states, the last states h and c of each layer [layers, E])"""
        x = self.embed_tokens(ids)
        module = self.encoder["rnn"]
        hidden = self.layers_of(module, x)
        out, last = module(x)
        assert torch.equal(out, hidden[-1])
        if x.shape[1] == out.shape[1]:
            hidden.insert(0, x)
        last = last if isinstance(last, tuple) else (last,)
        return hidden, [s.reshape(self.c["num_layers"], -1) for s in last]

    def score(self, s, h):
        kind, a = self.c["attention"], getattr(self, "attention", None)
        if kind == "dot":
            return h @ s
        if kind == "general":
            return a["key"](h) @ s
        return a["score"](torch.tanh(a["query"](s) + a["key"](h)))[:, 0]

    def decode(self, ids, encoded):
        """(hidden states, alignment, logits), row by row"""
        c, module, (hidden, last) = self.c, self.decoder["rnn"], encoded
        h, state = hidden[-1], last
        if c["bridge"] == "dense":
            made = [torch.stack([f(x) for f, x in zip(self.bridge[k], s)]) for k, s in zip("hc", last)]
            state = [made[0].tanh()] + made[1:]
        rows, weights, output = [], [], torch.zeros(c["hidden_size"], dtype=h.dtype)
        for x in self.embed_tokens(ids):
            seen, context = [x], None
            if c["attention"] == "bahdanau":
                p = self.score(state[0][-1], h).softmax(0)
                context = p @ h
                seen.append(context)
            if c["input_feeding"]:
                seen.append(output)
            out, state = module(torch.cat(seen)[None], tuple(state) if len(state) > 1 else state[0])
            state = list(state) if isinstance(state, tuple) else [state]
            s = out[0]
            if c["attention"] not in ("none", "bahdanau"):
                p = self.score(s, h).softmax(0)
                context = p @ h
            output = s if context is None else torch.tanh(self.combine(torch.cat([context, s])))
            rows.append([x, *state[0][:-1], output])
            if context is not None:
                weights.append(p)
        columns = [torch.stack(column) for column in zip(*rows)]
        if columns[0].shape[1] != columns[-1].shape[1]:
            columns = columns[1:]
        return torch.stack(columns), torch.stack(weights)[None, None] if weights else None, self.lm_head(columns[-1])

    def read(self, ids):
        x = self.embed_tokens(ids)
        hidden = self.layers_of(self.rnn, x)
        assert torch.equal(hidden[-1], self.rnn(x)[0])
        return torch.stack(([x] if x.shape[1] == hidden[0].shape[1] else []) + hidden), self.lm_head(hidden[-1])

    def stored(self):
        tied = self.c["tie_word_embeddings"]
        return {k: v.detach().clone().contiguous() for k, v in self.state_dict().items() if not (tied and k == "lm_head.weight")}


def initialise(model, seed):
    g = torch.Generator().manual_seed(seed)
    for name, p in model.named_parameters():
        x = torch.randn(p.shape, generator=g)
        if "bias" in name:
            x = 0.2 * x + 0.05 * x.sign()
        elif "attention.score" in name:
            x = 2 * x
        elif name == "embed_tokens.weight":
            x = 1.2 * x
        else:
            x = 1.6 / math.sqrt(p.shape[1]) * x
        p.data = x


def greedy(logits_of, first):
    ids, margins = list(first), []
    for _ in range(STEPS):
        best = logits_of(torch.tensor(ids))[-1].topk(2)
        ids.append(best.indices[0].item())
        margins.append((best.values[0] - best.values[1]).item())
    return ids[len(first):], margins


def save(name, seed, c, kind, model, expected, noise_of):
    noise = {}
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        other = Recurrent(c).eval()
        other.load_state_dict(model.state_dict())
        difference = (noise_of(other.to(dtype)).double() - expected["p2.logits"].double()).abs()
        noise[{"float64": "f64", "float16": "f16", "bfloat16": "bf16"}[str(dtype)[6:]]] = dict(
            max=float(f"{difference.max():.3g}"), rms=float(f"{difference.pow(2).mean().sqrt():.3g}"))
    folder = os.path.join(HERE, "models", name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    save_file(model.stored(), os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
    tensors = {k: (v.to(torch.int32) if not v.is_floating_point() else v.float()).detach().clone().contiguous() for k, v in expected.items()}
    save_file(tensors, os.path.join(folder, "expected.safetensors"))
    for file, value in (("config.json", c), ("meta.json", dict(name=name, seed=seed, kind=kind, torch=torch.__version__,
                                                                noise_p2_logits=noise))):
        with open(os.path.join(folder, file), "w") as f:
            json.dump(value, f, indent=1)
            f.write("\n")
    print(name, noise, expected["greedy.ids"].tolist())


def clear(name, draw, continued):
    """A prompt whose greedy continuation is clear, and has more than a few ids."""
    for _ in range(300):
        prompt = draw()
        ids, margins = continued(prompt)
        if min(margins) >= 0.01 and len(set(ids)) >= 5:
            return {"greedy.prompt_ids": prompt, "greedy.ids": torch.tensor(ids), "greedy.margin": torch.tensor(margins)}
    raise SystemExit(f"{name}: no prompt is continued clearly")


def make_language_model(name, seed, **config):
    c = dict(architectures=["RecurrentForCausalLM"], model_type="recurrent", vocab_size=97, embedding_size=24, hidden_size=32,
             num_hidden_layers=2, cell="lstm", tie_word_embeddings=False, eos_token_id=2, max_position_embeddings=256) | config
    model = Recurrent(c).eval()
    initialise(model, seed)
    g = torch.Generator().manual_seed(seed + 1)
    ids = lambda n: torch.randint(3, c["vocab_size"], (n,), generator=g)
    e = {}
    for i, n in enumerate(LENGTHS):
        prompt = ids(n)
        hidden, logits = model.read(prompt)
        e |= {f"p{i}.input_ids": prompt, f"p{i}.logits": logits}
    e["p2.hidden"] = hidden
    e |= clear(name, lambda: ids(LENGTHS[1]), lambda prompt: greedy(lambda x: model.read(x)[1], prompt.tolist()))
    save(name, seed, c, "decoder", model, e, lambda other: other.read(prompt)[1])


def make_seq2seq(name, seed, **config):
    c = dict(architectures=["Seq2SeqForConditionalGeneration"], model_type="seq2seq", vocab_size=97, embedding_size=24,
             hidden_size=28, encoder_hidden_size=28, num_layers=1, cell="lstm", bidirectional=False, bridge="copy",
             attention="general", attention_size=20, input_feeding=False, tie_word_embeddings=False,
             decoder_start_token_id=1, eos_token_id=2, max_position_embeddings=256) | config
    model = Recurrent(c).eval()
    initialise(model, seed)
    g = torch.Generator().manual_seed(seed + 1)
    ids = lambda n: torch.randint(3, c["vocab_size"], (n,), generator=g)
    e, start = {}, torch.tensor([c["decoder_start_token_id"]])
    for i, (n, m) in enumerate(zip(LENGTHS, DECODER_LENGTHS)):
        source, target = ids(n), torch.cat([start, ids(m - 1)])
        encoded = model.encode(source)
        hidden, weights, logits = model.decode(target, encoded)
        e |= {f"p{i}.input_ids": source, f"p{i}.decoder_input_ids": target, f"p{i}.logits": logits,
              f"p{i}.encoder_last_hidden": encoded[0][-1]}
    e |= {"p2.encoder_hidden": torch.stack(encoded[0]), "p2.decoder_hidden": hidden}
    if weights is not None:
        e["p2.cross_attn"] = weights
    e |= clear(name, lambda: ids(LENGTHS[1]),
               lambda prompt: greedy(lambda x, known=model.encode(prompt): model.decode(x, known)[2], start.tolist()))
    e["greedy.decoder_start"] = start
    save(name, seed, c, "encoder-decoder", model, e, lambda other: other.decode(target, other.encode(source))[2])


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    with torch.no_grad():
        op_cases()
        make_language_model("recurrent_lstm", 411)
        make_language_model("recurrent_gru_tied", 412, cell="gru", embedding_size=36, hidden_size=36, num_hidden_layers=3,
                            tie_word_embeddings=True)
        make_seq2seq("seq2seq_bahdanau", 421, cell="gru", bidirectional=True, encoder_hidden_size=21, bridge="dense",
                     attention="bahdanau")
        make_seq2seq("seq2seq_luong", 422, num_layers=2, embedding_size=28, attention="general", input_feeding=True)
        make_seq2seq("seq2seq_dot", 423, bidirectional=True, encoder_hidden_size=14, num_layers=2, bridge="copy", attention="dot")
        make_seq2seq("seq2seq_concat", 424, cell="rnn", attention="concat", encoder_hidden_size=30, bridge="dense",
                     embedding_size=28, tie_word_embeddings=True)
        make_seq2seq("seq2seq_plain", 425, attention="none", num_layers=2)
