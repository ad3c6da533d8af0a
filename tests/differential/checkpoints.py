#!/usr/bin/env python3
"""Opens what VANTAGE_BIN trains with transformers: random small models of every architecture.

    apt-get install --no-install-recommends python3-torch python3-transformers python3-safetensors
    export VANTAGE_BIN=build/release/vantage
    python3 checkpoints.py                    # a variant of every architecture (variants.py)
    python3 checkpoints.py gpt2 t5 --count 5  # of these
    python3 checkpoints.py bert --first 7 --count 1 --keep kept

A variant is determined by its number. `vantage train` takes two steps with its config.json. The class that the new
folder names must load it with from_pretrained without a missing or unexpected tensor, and gives the logits of `vantage
inspect`. Then `vantage finetune --lora` takes two steps from there. PEFT must find each adapter at a linear layer, and
no adapter may be missing: by PEFT itself, or, where it is not installed, by its rules. The adapted model gives the
logits of the folder that `vantage merge` writes. Of CLIP, which has no adapters, the vectors of both towers are compared.
Tolerance: that of compare.py. Exit code 1 if a variant differs or is rejected.
"""

import json
import math
import os
import random
import re
import shlex
import subprocess
import sys

import torch
import transformers
from safetensors.torch import load_file, save_file

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "data", "oracle"))
from compare import differences, inputs_for, run_vantage  # noqa: E402
from make_models import alibi_once  # noqa: E402
from train import TRAINED, drawn_model, image_shape  # noqa: E402
from variants import Draw, run_variants  # noqa: E402

try:
    import peft
except ImportError:
    peft = None

WORDS = 60  # all vocabularies are larger
MASK = 4
UNUSED = "encoder.pooler.dense"  # of a VisionEncoderDecoderModel, whose decoder reads the rows


def vantage(*arguments):
    done = subprocess.run(shlex.split(os.environ["VANTAGE_BIN"]) + list(arguments), capture_output=True, text=True)
    if done.returncode != 0:
        raise ValueError(f"vantage {shlex.join(arguments)}: exit code {done.returncode}: {done.stderr.strip()}")


def write_tokenizer(path):
    """Word w5 is token 5."""
    vocabulary = {"<mask>" if i == MASK else f"w{i}": i for i in range(WORDS)}
    model = dict(type="WordPiece", unk_token="w0", continuing_subword_prefix="##", max_input_chars_per_word=100, vocab=vocabulary)
    with open(path, "w") as f:
        json.dump(dict(model=model, pre_tokenizer=dict(type="WhitespaceSplit"),
                       added_tokens=[dict(id=MASK, content="<mask>", special=True)]), f)


def pixels(config, r):
    return torch.randn(1, *image_shape(config), generator=torch.Generator().manual_seed(r.randrange(1 << 30)))


def write_data(model, path):
    """What the model learns from: texts or images, with labels or answers."""
    r, sees = random.Random(3), image_shape(model.config) is not None
    text = lambda: " ".join(f"w{r.randrange(5, WORDS)}" for _ in range(r.randint(5, 30)))
    with open(path, "w") as f:
        for i in range(40):
            line = {}
            if sees:
                line["image"] = f"{path}-{i % 4}.safetensors"
                save_file({"pixel_values": pixels(model.config, r)}, line["image"])
            if model.config.is_encoder_decoder or model.config.model_type == "vision-encoder-decoder":
                line |= {"target": text()} | ({} if sees else {"source": text()})
            elif "Classification" in type(model).__name__:
                line |= {"label": i % model.config.num_labels} | ({} if sees else {"text": text()})
            else:
                line["text"] = text()
            f.write(json.dumps(line) + "\n")


def opened(folder, dtype):
    """The model of a folder, and what from_pretrained found missing, unexpected or mismatched."""
    cls = getattr(transformers, transformers.AutoConfig.from_pretrained(folder).architectures[0])
    model, info = cls.from_pretrained(folder, dtype=dtype, attn_implementation="eager", experts_implementation="eager",
                                      output_loading_info=True)
    unused = {f"{UNUSED}.{part}" for part in ("weight", "bias") if model.config.model_type == "vision-encoder-decoder"}
    return model.eval(), [f"{what}: {sorted(map(str, set(names) - unused))}" for what, names in info.items() if set(names) - unused]


def calls_of(model, r):
    """What the model is asked: its arguments, and those of vantage inspect."""
    c = model.config
    if c.model_type == "clip":
        ids = [r.randrange(3, c.text_config.vocab_size - 1) for _ in range(6)] + [c.text_config.eos_token_id]
        return [(dict(pixel_values=pixels(c, r)), []), (dict(input_ids=torch.tensor([ids])), ["--ids", ",".join(map(str, ids))])]
    if c.model_type == "vision-encoder-decoder":
        ids = [c.decoder_start_token_id] + [r.randrange(3, c.decoder.vocab_size) for _ in range(6)]
        return [(dict(pixel_values=pixels(c, r), decoder_input_ids=torch.tensor([ids])), ["--decoder-ids", ",".join(map(str, ids))])]
    return [inputs_for(model, r, 12)]


def results_of(model, given):
    """Logits, or the vector of one of CLIP's towers, by the names of vantage inspect --save."""
    given = {name: x.to(model.dtype) if x.is_floating_point() else x for name, x in given.items()}
    if model.config.model_type == "clip":
        if "pixel_values" in given:
            return dict(pooler_output=model.visual_projection(model.vision_model(**given).pooler_output)[0])
        return dict(pooler_output=model.text_projection(model.text_model(**given).pooler_output)[0])
    uncached = dict(use_cache=False) if model.can_generate() else {}
    out = model(**given, **uncached)
    return dict(logits=out.get("logits", out.get("prediction_logits"))[0])


def names_in_file(model, folder):
    """Names of the modules with weights by those of `folder`, which some classes of transformers rename as they load."""
    weights = load_file(os.path.join(folder, "model.safetensors"))
    modules = {name: module for name, module in model.named_modules() if getattr(module, "weight", None) is not None}
    if all(f"{name}.weight" in weights for name in modules):
        return {name: name for name in modules}
    return {name: next((key.removesuffix(".weight") for key, one in weights.items()
                        if one.shape == module.weight.shape and torch.equal(one, module.weight.float())), name)
            for name, module in modules.items()}


def by_rules(model, config, tensors, names):
    """Adds adapters as PEFT does. Returns what does not fit."""
    layers = {}
    problems = []
    for key, tensor in tensors.items():
        parts = re.fullmatch(r"base_model\.model\.(.+)\.lora_(A|B)\.weight", key)
        if parts is None:
            problems.append(f"{key} is no name of PEFT")
        else:
            layers.setdefault(parts[1], {})[parts[2]] = tensor
    factor = config["lora_alpha"] / (math.sqrt(config["r"]) if config["use_rslora"] else config["r"])
    for name, module in model.named_modules():
        name = names.get(name, name)
        targeted = any(name == target or name.endswith("." + target) for target in config["target_modules"])
        pair = layers.pop(name, {})
        if targeted != bool(pair) and not (name == UNUSED and model.config.model_type == "vision-encoder-decoder"):
            problems.append(f"{name} is {'' if targeted else 'not '}in target_modules, but has {len(pair)} matrices")
        if not pair:
            continue
        conv1d = isinstance(module, transformers.pytorch_utils.Conv1D)
        if not conv1d and not isinstance(module, torch.nn.Linear):
            problems.append(f"{name} is a {type(module).__name__}")
            continue
        inputs, outputs = module.weight.shape if conv1d else reversed(module.weight.shape)
        shapes = [tuple(pair[part].shape) if part in pair else None for part in "AB"]
        if shapes != [(config["r"], inputs), (outputs, config["r"])]:
            problems.append(f"{name}: A and B are {shapes} for {inputs} inputs and {outputs} outputs")
            continue
        a, b = (pair[part].to(module.weight.dtype) for part in "AB")
        module.register_forward_hook(lambda _, x, y, a=a, b=b: y + factor * ((x[0] @ a.T) @ b.T))
    return problems + [f"there is no module {name}" for name in layers]


def adapted(model, whole, folder):
    """The model of a folder with the adapters of another, and what does not fit."""
    with open(os.path.join(folder, "adapter_config.json")) as f:
        config = json.load(f)
    tensors = load_file(os.path.join(folder, "adapter_model.safetensors"))
    problems = [] if tensors else ["there are no adapters"]
    if config["task_type"] in ("CAUSAL_LM", "SEQ_2_SEQ_LM") and not model.can_generate():
        problems.append(f"task_type is {config['task_type']}, for which PEFT wants a model that writes")
    if peft is None:
        return model, problems + by_rules(model, config, tensors, names_in_file(model, whole))
    tuned = peft.PeftModel.from_pretrained(model, folder).eval()
    if names := set(peft.get_peft_model_state_dict(tuned)) ^ set(tensors):
        problems.append(f"PEFT has, or lacks, {sorted(names)}")
    return tuned.base_model.model, problems


def check(name, number, folder):
    r = Draw(f"checkpoints {name} {number}")
    model = drawn_model(name, r)
    path = lambda *parts: os.path.join(folder, *parts)
    model.save_pretrained(path("init"))
    write_data(model, path("data.jsonl"))
    words = []
    if name != "vit":
        write_tokenizer(path("tokenizer.json"))
        words = ["--tokenizer", path("tokenizer.json")]
    calls = calls_of(model, r)
    how = ["--data", path("data.jsonl"), "--eval-share", "0", "--context", "16", "--batch-tokens", "64", "--steps", "2", "--warmup", "0"]
    whole, lora, merged = path("run", "latest"), path("adapters", "latest"), path("merged")
    vantage("train", "--config", path("init", "config.json"), *words, *how, "--lr", "1e-2", "-o", path("run"))
    adapts = name != "clip"  # two models
    if adapts:
        vantage("finetune", "-m", whole, "--lora=2", *how, "--lr", "0.05", "-o", path("adapters"))
        vantage("merge", "-m", whole, "--lora", lora, "-o", merged)

    def compared(saved, single, double):
        """The results of transformers, and what differs from them in those of vantage."""
        results = [results_of(single, given) for given, _ in calls]
        return results, [one for (given, arguments), want in zip(calls, results)
                         for one in differences(run_vantage(saved, arguments, given), want, results_of(double, given))]

    (single, found), (double, _) = opened(whole, torch.float32), opened(whole, torch.float64)
    before, different = compared(whole, single, double)
    found += different
    if adapts:
        (single, problems), (double, _) = adapted(single, whole, lora), adapted(double, whole, lora)
        after, different = compared(merged, single, double)
        if not problems and all((b[key] - a[key]).abs().max() < 1e-2 for a, b in zip(before, after) for key in a):
            problems.append("they change nothing")
        found += [f"adapters: {one}" for one in problems + different]
    print(f"{name} {number}: {type(model).__name__}, adapters by {'rules' if peft is None else 'PEFT'}: {'; '.join(found) or 'ok'}",
          flush=True)
    if found:
        print("   ", json.dumps(model.config.to_diff_dict()), flush=True)
    return not found


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    alibi_once()
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    run_variants(__doc__, TRAINED, 1, check)
