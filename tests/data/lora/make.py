#!/usr/bin/env python3
"""Adapters in PEFT's files for models of tests/data/oracle/models, and what torch computes with them:

    adapter_config.json, adapter_model.safetensors
    expected.safetensors   ids: a prompt; logits: of the model with adapters beside its layers, computed in float64;
                           and under their names in the model merged weights of layer 0

On Debian sid (or a chroot of it):

    apt-get install --no-install-recommends python3-torch python3-transformers python3-safetensors
    python3 make.py

PEFT is not in Debian: the names, layouts and factors are those of its documentation and source (peft 0.17,
tuners/lora/layer.py): y += factor (x A^T) B^T with A [r, in] and B [out, r], factor alpha / r or alpha / sqrt(r), and
merged W + factor B A, transposed for GPT-2's Conv1D. The files here were made with torch 2.14.1 and transformers 5.12.1.
"""

import json
import math
import pathlib

import torch
import transformers
from safetensors.torch import load_file, save_file

HERE = pathlib.Path(__file__).parent
MODELS = HERE.parent / "oracle" / "models"
CASES = {
    "gpt2": {"r": 4, "lora_alpha": 8, "use_rslora": False, "target_modules": ["c_attn", "c_proj", "c_fc"]},
    "llama": {"r": 3, "lora_alpha": 6, "use_rslora": True, "target_modules": ["v_proj", "q_proj", "mlp.down_proj"]},
}


def make(name, case):
    model = transformers.AutoModelForCausalLM.from_pretrained(MODELS / name, dtype=torch.float64)
    model.eval()
    factor = case["lora_alpha"] / (math.sqrt(case["r"]) if case["use_rslora"] else case["r"])
    generator = torch.Generator().manual_seed(7)
    adapters, merged = {}, {}
    turned = False
    for module_name, module in model.named_modules():
        if not any(("." + module_name).endswith("." + target) for target in case["target_modules"]):
            continue
        conv1d = isinstance(module, transformers.pytorch_utils.Conv1D)
        inputs, outputs = module.weight.shape if conv1d else reversed(module.weight.shape)
        a = torch.randn(case["r"], inputs, generator=generator) * 0.1
        b = torch.randn(outputs, case["r"], generator=generator) * 0.1
        adapters[f"base_model.model.{module_name}.lora_A.weight"] = a
        adapters[f"base_model.model.{module_name}.lora_B.weight"] = b
        turned = turned or conv1d
        a, b = a.double(), b.double()
        if ".0." in module_name:
            delta = factor * (b @ a)
            merged[module_name + ".weight"] = (module.weight.detach() + (delta.T if conv1d else delta)).float()
        module.register_forward_hook(lambda _, x, y, a=a, b=b: y + factor * ((x[0] @ a.T) @ b.T))
    folder = HERE / name
    folder.mkdir(exist_ok=True)
    ids = load_file(MODELS / name / "expected.safetensors")["p1.input_ids"].reshape(1, -1)
    with torch.no_grad():
        logits = model(ids.long()).logits[0].float()
    contiguous = {key: value.contiguous() for key, value in merged.items()}
    save_file({"ids": ids[0].int(), "logits": logits.contiguous(), **contiguous}, folder / "expected.safetensors")
    save_file(adapters, folder / "adapter_model.safetensors", metadata={"format": "pt"})
    config = {
        "alpha_pattern": {},
        "auto_mapping": None,
        "base_model_name_or_path": name,
        "bias": "none",
        "corda_config": None,
        "eva_config": None,
        "exclude_modules": None,
        "fan_in_fan_out": turned,
        "inference_mode": True,
        "init_lora_weights": True,
        "layer_replication": None,
        "layers_pattern": None,
        "layers_to_transform": None,
        "loftq_config": {},
        "lora_alpha": case["lora_alpha"],
        "lora_bias": False,
        "lora_dropout": 0.05,
        "megatron_config": None,
        "megatron_core": "megatron.core",
        "modules_to_save": None,
        "peft_type": "LORA",
        "qalora_group_size": 16,
        "r": case["r"],
        "rank_pattern": {},
        "revision": None,
        "target_modules": case["target_modules"],
        "target_parameters": None,
        "task_type": "CAUSAL_LM",
        "trainable_token_indices": None,
        "use_dora": False,
        "use_qalora": False,
        "use_rslora": case["use_rslora"],
    }
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")


for name, case in CASES.items():
    make(name, case)
