#!/usr/bin/env python3
"""Records the loss and the norm of the gradients of one batch, as transformers computes them: first_steps.json, which
tests/device/learning_test.cpp compares with the first step of a Trainer on the same lines.

On Debian sid (or a chroot of it):

    apt-get install --no-install-recommends python3-torch python3-transformers python3-safetensors
    python3 make.py

first_steps.json was made with torch 2.14.1 and transformers 5.12.1, in f64. The models are those of ../oracle/models.
The tokenizer has the words w0, w1, … with the ids 0, 1, …, where w4 is called <mask>. An image is named by a number:
pixel i of image k is sin(i + k). Sequences of a batch have different lengths, so that padding is a part of it.
"""

import json
import math
import os

import torch
import transformers

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(HERE, "..", "oracle", "models")
MASK, VOCABULARY, SEED = 4, 97, 5
TEXTS = [[17, 30, 9, 55, 21], [8, 80], [60, 61, 62, 63, 64, 65, 9]]
ANSWERS = [[33, 12], [71, 72, 73, 74], [44]]


def words(ids):
    return " ".join("<mask>" if i == MASK else f"w{i}" for i in ids)


def padded(lists, value):
    longest = max(map(len, lists))
    return torch.tensor([one + [value] * (longest - len(one)) for one in lists])


def pixels(model, numbers):
    config = getattr(model.config, "encoder", model.config)
    size = config.image_size if isinstance(config.image_size, list) else [config.image_size] * 2
    shape = (config.num_channels, *size)
    images = [[math.sin(i + k) for i in range(math.prod(shape))] for k in numbers]
    return torch.tensor(images, dtype=torch.float64).reshape(len(numbers), *shape)


def labels_of_texts(model):
    labels = [2, 0, 1]
    ids = padded(TEXTS, 0)
    mask = padded([[1] * len(one) for one in TEXTS], 0)
    lines = [{"text": words(one), "label": label} for one, label in zip(TEXTS, labels)]
    return lines, model(input_ids=ids, attention_mask=mask, labels=torch.tensor(labels)).loss


def labels_of_pairs(model):
    first, second, labels = TEXTS, [[40], [41, 42, 43, 45], [46, 47]], [1, 2, 0]
    both = [a + b for a, b in zip(first, second)]
    types = padded([[0] * len(a) + [1] * len(b) for a, b in zip(first, second)], 0)
    mask = padded([[1] * len(one) for one in both], 0)
    lines = [{"text": words(a), "pair": words(b), "label": c} for a, b, c in zip(first, second, labels)]
    return lines, model(input_ids=padded(both, 0), token_type_ids=types, attention_mask=mask, labels=torch.tensor(labels)).loss


def answers_of(model):
    return padded([one + [model.config.eos_token_id] for one in ANSWERS], -100)


def answers_to_texts(model):
    mask = padded([[1] * len(one) for one in TEXTS], 0)
    lines = [{"source": words(a), "target": words(b)} for a, b in zip(TEXTS, ANSWERS)]
    return lines, model(input_ids=padded(TEXTS, model.config.pad_token_id), attention_mask=mask, labels=answers_of(model)).loss


def labels_of_images(model):
    labels = [6, 1, 3]
    lines = [{"image": str(k), "label": label} for k, label in enumerate(labels)]
    return lines, model(pixel_values=pixels(model, range(3)), labels=torch.tensor(labels)).loss


def answers_to_images(model):
    model.config.pad_token_id = model.config.decoder.pad_token_id = 0  # of the decoder's inputs behind an answer
    lines = [{"image": str(k), "target": words(one)} for k, one in enumerate(ANSWERS)]
    return lines, model(pixel_values=pixels(model, range(3)), labels=answers_of(model)).loss


def pairs(model):
    texts = [one + [model.config.text_config.eos_token_id] for one in TEXTS]
    mask = padded([[1] * len(one) for one in texts], 0)
    lines = [{"image": str(k), "text": words(one)} for k, one in enumerate(texts)]
    images = pixels(model.vision_model, range(3))
    return lines, model(input_ids=padded(texts, 0), attention_mask=mask, pixel_values=images, return_loss=True).loss


def mixed(x):
    """The finaliser of splitmix64."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
    return x ^ x >> 31


def masked_tokens(model):
    """One sequence, masked as runtime/train/token_data.cpp says, with the numbers of the first sequence of a run."""
    ids = [20 + 7 * i % 70 for i in range(25)]
    key, shown, labels = mixed(mixed(SEED)), ids[:24], [-100] * 24
    for i in range(24):
        chosen = mixed((key + i * 0x9E3779B97F4A7C15) % 2**64)
        share, how = (chosen >> 11) * 2.0**-53, mixed((chosen + 1) % 2**64)
        if share >= 0.15:
            continue
        labels[i] = ids[i]
        if (how >> 11) * 2.0**-53 < 0.8:
            shown[i] = MASK
        elif (how >> 11) * 2.0**-53 < 0.9:
            shown[i] = mixed((how + 1) % 2**64) % VOCABULARY
    assert MASK in shown and any(i >= 0 for i in labels)
    return [{"text": words(ids)}], model(input_ids=torch.tensor([shown]), labels=torch.tensor([labels])).loss


def main():
    cases = []
    for name, batch in [
        ("bert_classification", labels_of_pairs),
        ("roberta_classification", labels_of_texts),
        ("distilbert_classification", labels_of_texts),
        ("big_bird_classification", labels_of_texts),
        ("roberta", masked_tokens),
        ("t5", answers_to_texts),
        ("bart", answers_to_texts),
        ("vit", labels_of_images),
        ("vit_gpt2", answers_to_images),
        ("clip", pairs),
    ]:
        folder = os.path.join(MODELS, name)
        config = transformers.AutoConfig.from_pretrained(folder)
        cls = getattr(transformers, config.architectures[0])
        model = cls.from_pretrained(folder, dtype=torch.float64, attn_implementation="eager").eval()
        lines, loss = batch(model)
        loss.backward()
        norm = math.sqrt(sum(float((p.grad**2).sum()) for p in model.parameters() if p.grad is not None))
        cases.append({"model": name, "lines": lines, "loss": float(loss), "norm": norm})
        print(name, float(loss), norm)
    with open(os.path.join(HERE, "first_steps.json"), "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")


main()
