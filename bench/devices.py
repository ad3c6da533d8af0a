#!/usr/bin/env python3
"""What real drivers' compilers make of the kernels that each device would choose: registers, spills, instructions.

usage: bench/devices.py LAB KERNEL_LIST [--markdown FILE] [--jobs N] [--cache FILE] [DEVICE ...]

LAB is a command that runs vendors' drivers without their GPUs (Mesa's no-op DRM shims) and understands
    LAB probe DEVICE                          limits and features, as text
    LAB stat DEVICE -- OPTION ... FILE.spv    VK_KHR_pipeline_executable_properties of one pipeline, tab-separated;
                                              options: --bindings 0, --push BYTES, --subgroup N, --spec ID=VALUE
KERNEL_LIST is the program vantage_kernel_list of a build. For each device the limits become capabilities, the program says
which kernels a plan would run with which specialization constants, and each is compiled, --jobs at a time. What --cache FILE
already knows is not compiled again: compilers under emulation take minutes for a kernel. Exits with 1 if a chosen kernel
spills registers, keeps arrays in scratch memory or is refused.
"""
import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from multiprocessing.pool import ThreadPool
from pathlib import Path

DEVICES = ["amd-navi10", "amd-navi31", "amd-gfx1201", "nvk-turing", "nvk-ada", "intel-skl", "intel-dg2", "intel-bmg",
           "adreno-750", "apple-m1", "mali-g610", "v3d-71"]
SPILLS = ["Spilled VGPRs", "Spills to memory", "Spills", "STP Count", "TMU Spills"]
SCRATCH = ["Scratch size", "SLM size", "Scratch Memory Size", "Scratch", "Spill Size"]  # bytes: spills, and arrays not in registers
REGISTERS = ["VGPRs", "Number of GPRs", "Max live registers", "Registers used", "GPRs"]
INSTRUCTIONS = ["Instructions", "Instruction count", "Instruction Count"]
OCCUPANCY = ["Subgroups per SIMD", "Max warps/SM", "Max Waves Per Core", "Threads"]  # ANV does not tell
CYCLES = ["Inverse Throughput", "Static cycle count", "Cycles", "ALU", "Instruction Count"]  # Turnip: instructions
DETAILED = ["matmul", "joint_linear", "attention", "rms_norm", "layer_norm", "softmax"]  # ops whose kernels are told in detail


def run(command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def caps_of(lab, device):
    """The facts of `LAB probe` in the form that Vantage reads capabilities from."""
    text = run([lab, "probe", device])
    name = re.search(r"### (.*?) \| driver (\S+) (.*?) \| api", text)
    if not name:
        sys.exit(f"{device}: LAB probe says nothing that can be read:\n{text}")

    def number(pattern, default=0):
        found = re.search(pattern, text)
        return int(found.group(1)) if found else default

    low, high = number(r"min (\d+) max", 1), number(r"min \d+ max (\d+)", 1)
    groups = re.search(r"maxWG (\d+),(\d+),(\d+)", text)
    operations = int(re.search(r"sgops (0x[0-9a-f]+)", text).group(1), 16)
    return name.group(1).strip(), {
        "name": name.group(1), "driver": name.group(2), "driver_version": name.group(3), "type": "discrete", "api_version": "1.3.0",
        "subgroup_size": number(r"subgroup (\d+)", 1), "min_subgroup_size": low, "max_subgroup_size": high,
        "subgroup_arithmetic": bool(operations & 4), "subgroup_shuffle": bool(operations & 16), "subgroup_size_control": bool(number(r"ssc (\d)")),
        "max_workgroup_invocations": number(r"maxInvoc (\d+)", 128), "max_workgroup_size": [int(g) for g in groups.groups()],
        "max_shared_memory": number(r"shared (\d+)", 16384), "buffer_device_address": bool(number(r"BDA (\d)")),
        "timeline_semaphore": True, "synchronization2": bool(number(r"sync2 (\d)")), "fp16": bool(number(r"fp16 (\d)")),
        "int8": bool(number(r"int8 (\d)")), "int16": bool(number(r"int16 (\d)")), "int64": bool(number(r"int64 (\d)")),
        "cooperative_matrices": [{"m": int(m), "n": int(n), "k": int(k), "a": a, "b": b, "c": c} for m, n, k, a, b, c, result in
                                 re.findall(r"coop (\d+)x(\d+)x(\d+) (\w+)\*(\w+)\+(\w+)->(\w+) scope 3", text) if c == result],
        "storage16": bool(number(r"st16 (\d)")), "storage8": bool(number(r"st8 (\d)")), "integer_dot": bool(number(r"intdot (\d)")),
        "integer_dot_accelerated": bool(number(r"s/u accel (\d)")),
    }


def first(stats, names):
    return next((int(float(stats[n])) for n in names if n in stats), None)


class Cache:
    """Lines of JSON, [key, what LAB stat said], added to as kernels are compiled."""

    def __init__(self, file):
        self.file = Path(file) if file else None
        self.known = dict(map(json.loads, self.file.read_text().splitlines())) if file and self.file.exists() else {}

    def get(self, key, make):
        if key not in self.known:
            self.known[key] = make()
            if self.file and ".spv\t" in self.known[key]:
                with self.file.open("a") as out:
                    out.write(json.dumps([key, self.known[key]]) + "\n")
        return self.known[key]


def compile_kernel(lab, device, driver, folder, cache, index, line):
    op, name, module, _, subgroup, spec = line.split("\t")
    file = f"{device}-{index}.spv"  # LAB copies files to one place, whoever asks
    shutil.copy(folder / f"{module}.spv", folder / file)
    options = ["--bindings", "0", "--push", "128"] + [o for s in spec.split() for o in ("--spec", s)]
    if subgroup != "0":
        options += ["--subgroup", subgroup]
    code = hashlib.sha256((folder / file).read_bytes()).hexdigest()
    text = cache.get(" ".join([device, driver, code, *options]), lambda: run([lab, "stat", device, "--", *options, str(folder / file)]))
    row = next((l for l in text.splitlines() if ".spv\t" in l), "")
    stats = dict(field.split("=", 1) for field in row.split("\t") if "=" in field)
    size = re.search(r"\tsg (\d+)", row)
    return {"op": op, "kernel": name, "module": module, "spec": spec, "compiled": bool(stats), "subgroup": int(size.group(1)) if size else 0,
            "registers": first(stats, REGISTERS), "instructions": first(stats, INSTRUCTIONS),
            "occupancy": first(stats, OCCUPANCY), "cycles": first(stats, CYCLES),
            "spills": first(stats, SPILLS) or 0, "scratch": first(stats, SCRATCH) or 0, "invalid": "INVALID" in text}


def faults(r):
    """What is wrong with a pipeline, in words; nothing if it is as it should be."""
    if not r["compiled"]:
        return ["refused"]
    return ([f"{r['spills']} spilled"] if r["spills"] else []) + ([f"{r['scratch']} B scratch"] if r["scratch"] else []) + (["invalid"] if r["invalid"] else [])


def registers_of(r):
    return [] if not r["compiled"] else ["–" if r["registers"] is None else str(r["registers"])]


def details_of(r):
    return [] if not r["compiled"] else ["–" if r[what] is None else str(r[what]) for what in ("registers", "occupancy", "cycles")]


def kernel_table(results, said_of, ops=None):
    """One row per kernel, one column per device: what `said_of` says of a pipeline, and its faults."""
    devices = list(results)
    cells = {}
    for device, (_, rows) in results.items():
        for r in rows:  # several pipelines of one kernel: the one with the most registers speaks for it
            if ops and r["op"] not in ops:
                continue
            key = (r["op"], r["kernel"], r["module"])
            rank = (not r["compiled"], r["spills"], r["scratch"], r["registers"] or 0)
            if rank >= cells.get(key, {}).get(device, ((False, 0, 0, -1), ""))[0]:
                cells.setdefault(key, {})[device] = (rank, ", ".join(said_of(r) + [f"**{fault}**" for fault in faults(r)]))
    lines = ["| op | kernel (module) | " + " | ".join(devices) + " |", "|---|---|" + "---|" * len(devices)]
    for (op, kernel, module), row in sorted(cells.items()):
        lines.append(f"| {op} | {kernel} ({module}) | " + " | ".join(row[d][1] if d in row else "" for d in devices) + " |")
    return lines


def tables(results):
    """Registers of all kernels; registers, occupancy and cycles of those that take a model's time; devices."""
    lines = kernel_table(results, registers_of) + [""] + kernel_table(results, details_of, DETAILED)
    lines += [""] + [f"- `{device}`: {name}, {len(rows)} pipelines, {sum(1 for r in rows if faults(r))} with spills or scratch, or refused"
                     for device, (name, rows) in results.items()]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lab")
    parser.add_argument("kernel_list")
    parser.add_argument("devices", nargs="*", default=DEVICES)
    parser.add_argument("--markdown", help="write the tables to this file")
    parser.add_argument("--jobs", type=int, default=2, help="compile so many pipelines at once")
    parser.add_argument("--cache", help="keep what LAB stat said in this file")
    options = parser.parse_intermixed_args()
    cache = Cache(options.cache)
    results, bad = {}, 0
    for device in options.devices or DEVICES:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            name, caps = caps_of(options.lab, device)
            (folder / "caps.json").write_text(json.dumps(caps))
            listed = subprocess.run([options.kernel_list, str(folder / "caps.json"), temporary], capture_output=True, text=True, check=False)
            if listed.returncode != 0:
                sys.exit(f"{device}: {listed.stderr}")
            with ThreadPool(options.jobs) as pool:
                rows = pool.starmap(lambda index, line: compile_kernel(options.lab, device, caps["driver_version"], folder, cache, index, line),
                                    enumerate(listed.stdout.splitlines()), chunksize=1)
        results[device] = (name, rows)
        for r in rows:
            if faults(r):
                bad += 1
                print(f"{device}: {r['op']}/{r['kernel']} ({r['module']} {r['spec']}): " + ", ".join(faults(r)))
        print(f"{device}: {name}: {len(rows)} pipelines", flush=True)
        if options.markdown:
            Path(options.markdown).write_text(tables(results))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
