#!/usr/bin/env python3
"""Runs Vantage and its peers on the same work, in turn, and prints ratios.

    python3 bench/peers/compare.py [--vantage PROGRAM] [--device NAME] [--rounds 5] [--only PART,…] [--threads 2]
                                   [--json OUT]

Peers (the script lists those that are not installed): llama.cpp's llama-bench on Vulkan and on the CPU, with GGUF files of random
weights from make_gguf.py; PyTorch (pytorch.py) on CUDA or the CPU; ncnn on Vulkan (ncnn_ops.py, ops only).
Parts: model (shape of GPT-2 small, pp512 and tg64, in f32, f16 and q8), ops (matrix products, attention, norms), train
(steps of training GPT-2 small or the built-in model's shape in f32; PyTorch alone).

Every round runs Vantage, then each peer (A B A B …), so that other load on the machine affects all of them. Figures are
medians over the rounds. ggml hides software devices unless GGML_VK_VISIBLE_DEVICES is set: if unset, it is set to 0.
"""
import argparse
import collections
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
from work import OPS, WORK  # noqa: E402
Training = collections.namedtuple("Training", "shape sequences tokens steps warm_up")
MINI_WORLD = ROOT / "assets" / "models" / "mini-world"
WEIGHTS = {"f32": "f32", "f16": "f16", "q8": "q8_0"}  # Vantage's names and ggml's


def run(command, **environment):
    """stdout of a command; nothing where it fails, with a line that says so"""
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode == 0:
        return done.stdout
    last = (done.stderr.strip().splitlines() or ["no message"])[-1]
    print(f"{' '.join(map(str, command))} ended with {done.returncode}: {last}", file=sys.stderr)
    return None


class Vantage:
    name = "vantage"

    def __init__(self, program, device):
        self.command = [str(program), "-q"] + (["--device", device] if device else [])
        self.device = None

    def model(self, weights, _):
        out = run(self.command + ["bench", "model", "--shape", "gpt2-small", "--weights", weights, "--precision",
                                  "f32" if weights == "f32" else "f16", "--pp", "512", "--tg", "64", "-r", "1",
                                  "--no-start", "-o", "json"])
        if out is None:
            return {}
        report = json.loads(out)
        self.device = "{name}, {driver} {driver_version}".format(**report["device"])
        return {row["test"]: row["t_per_s"] for row in report["rows"]}

    def train(self, test):
        model = ["-m", str(MINI_WORLD)] if test.shape == "mini-world" else ["--shape", test.shape]
        out = run(self.command + ["bench", "train", *model, "-b", str(test.sequences), "--tokens", str(test.tokens),
                                  "--steps", str(test.steps), "--warm-up", str(test.warm_up), "-o", "json"])
        if out is None:
            return {}
        report = json.loads(out)
        self.device = "{name}, {driver} {driver_version}".format(**report["device"])
        return {row["test"]: row["t_per_s_median"] for row in report["rows"]}

    def ops(self, _):
        figures = {}
        for op in OPS:
            out = run(self.command + ["bench", "ops", "--quick", "--op", op, "-o", "json"])
            report = json.loads(out) if out else {"rows": []}
            for row in report["rows"]:
                name = f"{op} {row['case']}"
                if row.get("chosen") and name in WORK and row["types"].startswith("f32"):
                    figures[name] = WORK[name] / row["time_us"] / 1e3
                    self.device = "{name}, {driver} {driver_version}".format(**report["device"])
        return figures


class LlamaBench:
    """llama-bench on Vulkan, without cooperative matrices where those are slower (software devices), or on the CPU"""

    def __init__(self, program, vulkan, environment, threads):
        self.name = "ggml-" + ("Vulkan" if vulkan else "CPU") + (" scalar" if "GGML_VK_DISABLE_COOPMAT" in environment else "")
        self.command = [program, "-p", "512", "-n", "64", "-fa", "1", "-r", "1", "-t", str(threads), "-o", "json",
                        "-ngl", "99" if vulkan else "0"] + ([] if vulkan else ["-dev", "none"])
        self.environment = environment
        self.device = None

    def model(self, weights, files):
        out = run(self.command + ["-m", str(files[weights])], **self.environment)
        if out is None:
            return {}
        rows = json.loads(out)
        self.device = rows[0]["gpu_info"] if rows[0]["backends"] == "Vulkan" else rows[0]["cpu_info"]
        return {("pp512" if row["n_prompt"] else "tg64"): row["avg_ts"] for row in rows}

    def train(self, _):
        return {}

    def ops(self, _):
        return {}


class Script:
    """a peer that a Python script of this folder runs: it prints JSON with the keys device, model and ops"""

    def __init__(self, name, file):
        self.name, self.file, self.device = name, file, None

    def ask(self, *arguments):
        out = run([sys.executable, str(HERE / self.file), *arguments])
        if out is None:
            return {}
        answer = json.loads(out)
        self.device = answer.pop("device")
        return answer

    def model(self, weights, _):
        return self.ask("model", weights)

    def train(self, test):
        return {} if "torch" not in self.name.lower() else self.ask("train", *map(str, test))

    def ops(self, _):
        return self.ask("ops")


def find_peers(threads):
    peers, missing = [], []
    program = shutil.which("llama-bench")
    if program and importlib.util.find_spec("gguf"):
        vulkan = {"GGML_VK_VISIBLE_DEVICES": os.environ.get("GGML_VK_VISIBLE_DEVICES", "0")}
        scalar = {**vulkan, "GGML_VK_DISABLE_COOPMAT": "1", "GGML_VK_DISABLE_COOPMAT2": "1"}
        peers += [LlamaBench(program, True, vulkan, threads), LlamaBench(program, True, scalar, threads),
                  LlamaBench(program, False, {"GGML_VK_VISIBLE_DEVICES": ""}, threads)]
    else:
        missing.append("llama.cpp (llama-bench and the Python module gguf)")
    if importlib.util.find_spec("torch"):
        peers.append(Script("PyTorch", "pytorch.py"))
    else:
        missing.append("PyTorch (the Python module torch)")
    if importlib.util.find_spec("ncnn"):
        peers.append(Script("ncnn-Vulkan", "ncnn_ops.py"))
    else:
        missing.append("ncnn (the Python module ncnn)")
    return peers, missing


def measure(programs, rounds, ask):
    """{program: {test: median}} of what ask(program) says, all of them in turn"""
    figures = {}
    for number in range(rounds):
        for program in programs:
            for test, value in ask(program).items():
                figures.setdefault(program.name, {}).setdefault(test, []).append(value)
        print(f"round {number + 1} of {rounds}", file=sys.stderr)
    return {name: {test: statistics.median(values) for test, values in tests.items()} for name, tests in figures.items()}


def cells_of(values, ours, tests, name):
    for test in tests:
        if test not in values:
            yield ""
        elif name == "vantage" or test not in ours:
            yield f"{values[test]:.1f}"
        else:
            yield f"{values[test]:.1f} ({ours[test] / values[test]:.2f}×)"


def table(title, unit, figures):
    ours = figures.get("vantage", {})
    tests = list(dict.fromkeys(test for values in figures.values() for test in values))
    names = list(figures)
    print(f"\n{title}, {unit}; in brackets Vantage divided by the peer\n")
    print("| | " + " | ".join(names) + " |\n|---|" + "---:|" * len(names))
    columns = {name: dict(zip(tests, cells_of(figures[name], ours, tests, name))) for name in names}
    for test in tests:
        print(f"| {test} | " + " | ".join(columns[name][test] for name in names) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vantage", default=ROOT / "build" / "release" / "vantage")
    parser.add_argument("--device", default="", help="as for vantage --device")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="model", help="model, ops, train, or several: model,ops")
    parser.add_argument("--train", default="1x512",
                        help="of the part train: sequences x tokens of a step, 1x512,4x1024, of GPT-2 small, or after "
                             "mini-world: of that shape, mini-world:16x256")
    parser.add_argument("--steps", type=int, default=5, help="of the part train: steps that count, after two others")
    parser.add_argument("--weights", default="f32,f16,q8")
    parser.add_argument("--peers", default="", help="only those whose names have one of these words in them")
    parser.add_argument("--json", help="write all medians to this file, too")
    options = parser.parse_args()
    peers, missing = find_peers(options.threads)
    words = [word for word in options.peers.split(",") if word]
    peers = [peer for peer in peers if not words or any(word.lower() in peer.name.lower() for word in words)]
    for name in missing:
        print(f"not installed: {name}")
    programs = [Vantage(options.vantage, options.device), *peers]
    parts, all_figures = options.only.split(","), {}
    with tempfile.TemporaryDirectory() as folder:
        if "model" in parts:
            for weights in options.weights.split(","):
                files = {weights: Path(folder) / f"gpt2-small-{weights}.gguf"}
                if any(isinstance(peer, LlamaBench) for peer in peers):
                    subprocess.run([sys.executable, str(HERE / "make_gguf.py"), str(files[weights]), WEIGHTS[weights]], check=True)
                all_figures[weights] = measure(programs, options.rounds, lambda program: program.model(weights, files))
                files[weights].unlink(missing_ok=True)
                table(f"GPT-2 small, {weights}", "tokens/s", all_figures[weights])
        if "ops" in parts:
            all_figures["ops"] = measure(programs, options.rounds, lambda program: program.ops(None))
            table("Ops in f32", "GFLOP/s of matrix products and attention, GB/s of all others", all_figures["ops"])
        if "train" in parts:
            for name in options.train.split(","):
                shape, _, batch = name.rpartition(":")
                test = Training(shape or "gpt2-small", *map(int, batch.split("x")), options.steps, 2)
                all_figures[f"train {name}"] = measure(programs, options.rounds, lambda program: program.train(test))
                table(f"Training {test.shape}, f32", "tokens/s", all_figures[f"train {name}"])
    print("\nmedians of", options.rounds)
    for program in programs:
        print(f"{program.name}: {program.device}")
    if options.json:
        Path(options.json).write_text(json.dumps(all_figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
