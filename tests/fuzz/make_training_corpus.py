#!/usr/bin/env python3
"""Writes the first inputs of fuzz_training_data, fuzz_training_run and fuzz_recorded_run.

The formats of the inputs are described in these programs. The checkpoints are made by the program itself. Models and
recordings are those of tests/data/oracle, reduced to one layer and few features, with weights of zero.

Usage: tests/fuzz/make_training_corpus.py PROGRAM     (from the root of the repository; PROGRAM: build/release/vantage)
"""
import json
import math
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path.cwd()
CORPUS = ROOT / "tests/fuzz/corpus"
ORACLE = ROOT / "tests/data/oracle"


def write(target, name, data):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())


def safetensors(tensors):
    """tensors: name -> (dtype, shape, bytes)"""
    header, end = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + len(data)]}
        end += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values())


def integers(kind, values):
    return struct.pack(f"<{len(values)}{kind}", *values)


def packed(names, files):
    parts = [bytes([len(files)])]
    for name, data in files.items():
        data = data if isinstance(data, bytes) else data.encode()
        parts += [bytes([names.index(name)]), struct.pack("<I", len(data)), data]
    return b"".join(parts)


# ---- fuzz_training_data ----------------------------------------------------------------------------------------------

def lines(*objects):
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in objects)


def token_file(ids, starts, targets, checksum=0, width=2):
    data = integers("H" if width == 2 else "I", ids)
    data += bytes(-len(data) % 8) + integers("Q", starts)
    return data + b"VANTTOK1" + struct.pack("<IIQQQQ", width, 0, len(ids), len(starts) - 1, checksum, targets)


def training_data():
    def one(letter, name, data):
        write("training_data", name, letter.encode() + (data if isinstance(data, bytes) else data.encode()))

    one("t", "text", "The dog saw the cat.\nIt ran away.\n<|endoftext|>\nThe cat saw the dog.<|endoftext|>")
    one("t", "text_one_document", "Wörter, 言葉 and \u2028words\r\n\r\nof one document\r\n")
    one("t", "text_not_utf8", b"\xff\xfe a \xc3( b \xe2\x82 c <|endoftext|>\x00d")
    one("b", "text_blank_lines", "One document.\n\n\nAnother one\r\n\r\nThe third\nhas two lines.\n")
    chat = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Where is the key?"},
            {"role": "assistant", "content": "In the tree."}, {"role": "user", "content": "Thanks"},
            {"role": "assistant", "content": ""}]
    one("j", "jsonl_text", lines({"text": "The dog saw the cat."}, {"text": "Das Mädchen \U0001f600"}))
    one("j", "jsonl_messages", lines({"messages": chat}))
    one("j", "jsonl_prompts", lines({"prompt": "The", "completion": "re is the dog."}, {"prompt": "", "completion": "x"}))
    one("j", "jsonl_instructions", lines({"instruction": "Add", "input": "1 2", "output": "3"},
                                         {"instruction": "Say yes", "output": "yes"}))
    one("j", "jsonl_one_bad_line", '{"text": "good, and long enough"}\n{"text": 3}\n\n{"texts": ""}\n{"text": "b"')
    one("J", "jsonl_strict_bad_line", '{"text": "good"}\n{"te\\u0007\\nxt": 3}\n')
    one("j", "jsonl_refused_role", lines({"messages": [{"role": "refused", "content": "a"}]}))
    one("J", "jsonl_rewritten_messages", lines({"messages": [{"role": "hidden", "content": "a"}, chat[2], chat[3]]}))
    words = ["red", "the key", "yes", "a long text that is cut", "Ä"]
    one("l", "labels", lines(*({"text": word, "label": i % 2} for i, word in enumerate(words))))
    one("l", "labels_of_pairs", lines(*({"text": word, "pair": "b", "label": ["no", "yes"][i % 2]}
                                        for i, word in enumerate(words))))
    one("l", "labels_beyond", lines({"text": "a", "label": 0}, {"text": "b", "label": 2}))
    one("L", "labels_of_images", lines(*({"image": f"{word}.png", "label": i % 2} for i, word in enumerate(words))))
    one("L", "labels_broken_image", lines({"image": "a.png", "label": 0}, {"image": "broken", "label": 1}))
    one("a", "answers", lines(*({"source": word, "target": word[::-1]} for word in words)))
    one("a", "answers_to_prompts", lines(*({"prompt": word, "completion": "no"} for word in words)))
    one("A", "answers_about_images", lines(*({"image": f"{word}.png", "target": word} for word in words)))
    one("A", "answers_large_image", lines({"image": "large", "target": "a"}))
    one("p", "pairs", lines(*({"image": f"{word}.png", "text": word} for word in words)))
    one("p", "pairs_broken_image", lines({"image": "a.png", "text": "a"}, {"image": "broken", "text": "b"}))
    one("p", "pairs_without_text", lines({"image": "a.png", "text": "a"}, {"image": "b.png", "target": "b"}))
    ids = [(7 * i) % 255 + 1 for i in range(30)] + [0] + [5, 6, 7, 0, 8]
    header = [1, len(ids)] + [0] * 253
    one("i", "bin_nanogpt", integers("H", ids))
    one("i", "bin_llmc_u16", integers("i", [20240520] + header) + integers("H", ids))
    one("i", "bin_llmc_u32", integers("i", [20240801] + header) + integers("I", ids))
    one("i", "bin_id_beyond_vocabulary", integers("H", ids + [999]))
    tokens = ("I32", [len(ids)], integers("i", ids))
    one("s", "safetensors", safetensors({"tokens": tokens}))
    one("s", "safetensors_mask_documents", safetensors({
        "documents": ("I64", [2], integers("q", [0, 31])), "tokens": tokens,
        "mask": ("U8", [len(ids)], bytes(i % 3 for i in range(len(ids))))}))
    one("s", "safetensors_empty_mask", safetensors({"tokens": tokens, "mask": ("U8", [0], b"")}))
    one("s", "safetensors_documents_from_3", safetensors({
        "documents": ("I64", [1], integers("q", [3])), "tokens": tokens}))
    one("k", "kept_tokens", token_file(ids, [0, 31, len(ids)], len(ids)))
    one("k", "kept_tokens_flagged_u32", token_file([1 << 31 | 3, 4, 5, 6, 7, 8, 9], [0, 7], 6, width=4))
    one("k", "kept_tokens_beyond_vocabulary", token_file(ids + [9999] * 9, [0, len(ids) + 9], len(ids) + 9))
    one("k", "kept_tokens_more_targets", token_file(ids, [0, len(ids)], 1 << 40))


# ---- fuzz_training_run -----------------------------------------------------------------------------------------------

RUN_NAMES = ["config.json", "model.safetensors", "training.safetensors", "training.json", "run.json", "log.jsonl"]


def checkpoint(program, folder, *options):
    """What `vantage train` writes for the data of fuzz_training_run, without what is of this machine."""
    (folder / "data.bin").write_bytes(b"".join(bytes([(7 * i + i // 16) % 16, 0]) for i in range(400)))
    command = [program, "train", "-q", "--vocab", "16", "--data", "data.bin", "--context", "8", "--layers", "1",
               "--width", "4", "--heads", "2", "--steps", "3", "--batch-tokens", "16", "--warmup", "2",
               "--prompt", "The dog", "-o", "out", *options]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    step = folder / "out/step-000003"
    training = json.loads((step / "training.json").read_text())
    training["data"]["files"] = ["data.bin"]
    training["device"], training["driver"], training["driver_version"] = "Null device", "", ""
    training.pop("commit", None)
    training["files"] = {name: "right" for name in training["files"]}
    training["options"]["steps"] = 5  # there is something left to do
    files = {name: (step / name).read_bytes() for name in RUN_NAMES[:3]}
    files["training.json"] = json.dumps(training, separators=(",", ":"))
    for name in ["run.json", "log.jsonl"]:
        files[name] = (folder / "out" / name).read_bytes()
    return files


def log(*numbers):
    return lines(*({"step": i, "loss": x, "norm": x, "rate": x} for i, x in enumerate(numbers)))


def training_run(program):
    def one(name, files, **changed):
        files = dict(files, **{key: value for key, value in changed.items() if value is not None})
        write("training_run", name, packed(RUN_NAMES, files))

    with tempfile.TemporaryDirectory() as folder:
        adamw = checkpoint(program, pathlib.Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        sgd = checkpoint(program, pathlib.Path(folder), "--optimizer", "sgd", "--momentum", "0.9")
    one("adamw", adamw)
    one("sgd", sgd)
    skips = json.loads(adamw["training.json"])
    skips["options"]["skipped_batches"] = 3
    one("skipped_batches", dict(adamw, **{"training.json": json.dumps(skips, separators=(",", ":"))}))
    logs = {
        "log_cut_off": '{"step":0,"loss":2.5,"norm":1,"rate":0.1}\n{"step":1,"eval":2.4}\n{"step":1,"lo',
        "log_no_steps": '{"step":1,"eval":2.4}\n',
        "log_bad_line": log(2.5) + '{"step":"\\u001b[2J"}\n' + log(2.4),
        "log_null": log(2.5, None, 2.4),
        "log_step_beyond": '{"step":0,"loss":1}\n{"step":-1e300,"loss":1}\n{"step":1e300,"loss":2}\n',
        "log_largest_doubles": log(1.7e308, -1.7e308, 1.7e308),
        "log_neighbouring_doubles": log(2.0, 2.0000000000000004),
        "log_one_null": log(None),
    }
    for name, text in logs.items():
        one(name, {"log.jsonl": text})
    run = json.loads(adamw["run.json"])
    for name, key, value in [("run_keep_none", "keep", 0), ("run_negative", "eval_every", -1),
                             ("run_prompt_number", "prompt", 3), ("run_rollback", "rollback", True),
                             ("run_rollback_number", "rollback", 1)]:
        one(name, {"run.json": json.dumps(dict(run, **{key: value}))})

    def changed(name, place, key, value):
        training = json.loads(adamw["training.json"])
        (training[place] if place else training)[key] = value
        files = {"config.json": b"{}", "model.safetensors": b"", "training.safetensors": b""}
        one(name, dict(files, **{"training.json": json.dumps(training, separators=(",", ":"))}))

    changed("checkpoint_beta_of_one", "options", "beta1", 1)
    changed("checkpoint_floor_above_rate", "options", "rate_floor", 1)
    changed("checkpoint_skipped_batches_beyond", "options", "skipped_batches", 1 << 62)
    changed("checkpoint_huge_batch", "options", "accumulate", 1 << 20)
    changed("checkpoint_files_of_numbers", "data", "files", [3])
    changed("checkpoint_wrong_checksum", "files", "config.json", {"bytes": 2, "checksum": "\u001b[2J"})


# ---- fuzz_recorded_run -----------------------------------------------------------------------------------------------

RECORDED_NAMES = ["config.json", "train.json", "data.safetensors", "grads0.safetensors", "init.safetensors",
                  "final.safetensors"]
LATER_LAYER = re.compile(r"\b(?:layer|h|block)\.[1-9]\d*\.(?!SelfAtt|EncDecAtt|DenseRelu|layer_norm)")


def header_of(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    return {name: entry for name, entry in json.loads(data[8:8 + size]).items() if name != "__metadata__"}


def recorded(config, tensors, sizes, data, steps=2):
    """A recording of a model whose sizes are replaced: {old: new}."""
    shapes = {name: [sizes.get(n, n) for n in entry["shape"]] for name, entry in tensors.items()
              if not LATER_LAYER.search(name)}
    zeros = {name: ("BF16", shape, bytes(2 * math.prod(shape))) for name, shape in shapes.items()}
    first = dict(list(zeros.items())[:2])
    record = {"hyper": {"lr": 0.01, "warmup": 1, "schedule": "constant", "betas": [0.9, 0.95], "eps": 1e-6,
                        "weight_decay": 0.1, "clip": 1.0, "label_smoothing": 0.0, "accumulate": 1},
              "loss": [2.5] * steps, "grad_norm": [1.0] * steps, "lr": [0.01] * steps}
    return {"config.json": json.dumps(config, separators=(",", ":")),
            "train.json": json.dumps(record, separators=(",", ":")), "data.safetensors": safetensors(data),
            "grads0.safetensors": safetensors(first), "init.safetensors": safetensors(zeros),
            "final.safetensors": safetensors(zeros)}


def reduced(config, sizes):
    kept = ["architectures", "model_type", "vocab_size", "n_positions", "n_embd", "n_head", "activation_function",
            "tie_word_embeddings", "d_ff", "d_kv", "d_model", "decoder_start_token_id", "dense_act_fn", "eos_token_id",
            "feed_forward_proj", "is_encoder_decoder", "is_gated_act", "num_heads", "pad_token_id", "hidden_size",
            "relative_attention_max_distance", "relative_attention_num_buckets", "hidden_act", "id2label",
            "image_size", "intermediate_size", "num_attention_heads", "num_channels", "patch_size", "qkv_bias"]
    small = {key: sizes.get(value, value) if isinstance(value, int) and not isinstance(value, bool) else value
             for key, value in config.items() if key in kept}
    for key in ["n_layer", "num_layers", "num_decoder_layers", "num_hidden_layers"]:
        if key in config:
            small[key] = 1
    return small


def recorded_run():
    def tokens(*shape):
        return "I32", list(shape), integers("i", [i % 8 for i in range(math.prod(shape))])

    def one(name, files):
        write("recorded_run", name, packed(RECORDED_NAMES, files))

    folder, sizes = ORACLE / "train", {256: 8, 32: 4, 96: 12, 128: 16}
    config = reduced(json.loads((folder / "config.json").read_text()), sizes)
    tensors = header_of(folder / "init.safetensors")
    gpt2 = recorded(config, tensors, sizes, {"tokens": tokens(2, 2, 4)})
    one("gpt2", gpt2)
    small = dict(gpt2, **{"init.safetensors": safetensors({}), "final.safetensors": safetensors({})})
    small["config.json"] = json.dumps(dict(config, tie_word_embeddings=True))

    def changed(name, data, record=None):
        files = dict(small, **{"data.safetensors": safetensors(data)})
        if record:
            files["train.json"] = json.dumps(dict(json.loads(files["train.json"]), **record))
        one(name, files)

    changed("id_beyond_vocabulary", {"tokens": ("I32", [2, 1, 2], integers("i", [1, 2, 9, 1]))})
    changed("fewer_rates_than_steps", {"tokens": tokens(2, 1, 3)}, {"lr": [0.1]})
    changed("labels_of_other_rows", {"input_ids": tokens(2, 1, 3), "labels": tokens(2, 1, 4)})
    changed("labels_without_steps", {"input_ids": tokens(2, 1, 3), "labels": ("I32", [0, 1 << 30, 1 << 30], b"")})

    folder, sizes = ORACLE / "train_more/vit", {40: 4, 64: 4, 24: 4, 8: 2, 10: 5}
    pixels = ("F32", [2, 2, 3, 4, 4], bytes(4 * 2 * 2 * 48))
    config = reduced(json.loads((folder / "init/config.json").read_text()), sizes)
    vit = recorded(config, header_of(folder / "init/model.safetensors"), sizes,
                   {"pixel_values": pixels, "labels": tokens(2, 2)})
    one("vit", vit)
    halves = ("F16", pixels[1], pixels[2][:len(pixels[2]) // 2])
    one("pixels_of_16_bits", dict(vit, **{
        "data.safetensors": safetensors({"pixel_values": halves, "labels": tokens(2, 2)}),
        "init.safetensors": safetensors({}), "final.safetensors": safetensors({})}))

    folder, sizes = ORACLE / "train_more/t5", {311: 8, 40: 4, 36: 6, 72: 4, 12: 2, 32: 8}
    config = reduced(json.loads((folder / "init/config.json").read_text()), sizes)
    one("t5", recorded(config, header_of(folder / "init/model.safetensors"), sizes, {
        "input_ids": tokens(1, 1, 4), "decoder_input_ids": tokens(1, 1, 3), "labels": tokens(1, 1, 3)}, 1))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    training_data()
    training_run(pathlib.Path(sys.argv[1]).resolve())
    recorded_run()
