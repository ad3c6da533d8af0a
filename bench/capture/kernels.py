"""Compiles the kernels that each device would choose with the device's real driver: registers, spills, instructions.

LAB is a command that runs vendors' drivers without their GPUs. It must support
    LAB probe DEVICE                          print limits and features as text
    LAB stat DEVICE -- OPTION ... FILE.spv    print VK_KHR_pipeline_executable_properties of one pipeline, tab-separated;
                                              options: --bindings 0, --push BYTES, --subgroup N, --spec ID=VALUE
For a device, compiled():
    1. The limits are converted to Vantage's capabilities.
    2. vantage_kernel_list prints the kernels that plans of sessions and of training would run, with their specialization
       constants.
    3. Each kernel is compiled, several at a time. A cache keeps the results: emulated compilers take minutes for a kernel.
"""
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from multiprocessing.pool import ThreadPool
from pathlib import Path

# The probe does not print the type of a device. Kernels that need many registers are not chosen on small integrated ones.
INTEGRATED = ("amd-renoir", "amd-vangogh", "amd-phoenix", "amd-strix", "intel-skl", "intel-icl", "intel-tgl", "intel-adl", "intel-mtl",
              "intel-lnl", "intel-ptl", "adreno-", "apple-", "mali-", "v3d-", "powervr-")
TABLE_DEVICES = {"registers": 5, "details": 4}  # maximum per table, so that rows stay below 120 columns
SPILLS = ["Spilled VGPRs", "Spills to memory", "Spills", "STP Count", "TMU Spills"]
SCRATCH = ["Scratch size", "SLM size", "Scratch Memory Size", "Scratch", "Spill Size"]  # bytes: spills and arrays
REGISTERS = ["VGPRs", "Number of GPRs", "Max live registers", "Registers used", "GPRs"]
INSTRUCTIONS = ["Instructions", "Instruction count", "Instruction Count"]
OCCUPANCY = ["Subgroups per SIMD", "Max warps/SM", "Max Waves Per Core", "Threads"]  # ANV: not reported
CYCLES = ["Inverse Throughput", "Static cycle count", "Cycles", "ALU", "Instruction Count"]  # Turnip: instructions
DETAILED = ["matmul", "joint_linear", "attention", "attention_backward", "rms_norm", "layer_norm", "softmax"]  # with occupancy and cycles


def run(command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def caps_of(lab, device):
    """Converts the output of `LAB probe` to the JSON that Vantage reads capabilities from."""
    text = run([lab, "probe", device])
    name = re.search(r"### (.*?) \| driver (\S+) (.*?) \| api", text)
    if not name:
        sys.exit(f"{device}: cannot parse the output of LAB probe:\n{text}")

    def number(pattern, default=0):
        found = re.search(pattern, text)
        return int(found.group(1)) if found else default

    low, high = number(r"min (\d+) max", 1), number(r"min \d+ max (\d+)", 1)
    groups = re.search(r"maxWG (\d+),(\d+),(\d+)", text)
    operations = int(re.search(r"sgops (0x[0-9a-f]+)", text).group(1), 16)
    return name.group(1).strip(), {
        "name": name.group(1), "driver": name.group(2), "driver_version": name.group(3),
        "type": "integrated" if device.startswith(INTEGRATED) else "discrete", "api_version": "1.3.0",
        "subgroup_size": number(r"subgroup (\d+)", 1), "min_subgroup_size": low, "max_subgroup_size": high,
        "subgroup_arithmetic": bool(operations & 4), "subgroup_shuffle": bool(operations & 16), "subgroup_quad": bool(operations & 128), "subgroup_size_control": bool(number(r"ssc (\d)")),
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
    """JSON lines [key, output of LAB stat]; a line is appended for each compiled kernel."""

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
    file = f"{device}-{index}.spv"  # unique: LAB copies all files to one folder
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
    """The faults of a pipeline as texts; empty if there are none."""
    if not r["compiled"]:
        return ["refused"]
    return ([f"{r['spills']} spilled"] if r["spills"] else []) + ([f"{r['scratch']} B scratch"] if r["scratch"] else []) + (["invalid"] if r["invalid"] else [])


def registers_of(r):
    return [] if not r["compiled"] else ["–" if r["registers"] is None else str(r["registers"])]


def details_of(r):
    return [] if not r["compiled"] else ["–" if r[what] is None else str(r[what]) for what in ("registers", "occupancy", "cycles")]


def groups_of(devices, most):
    """The devices in as few groups as possible, of at most `most` each and of about the same size."""
    count = -(-len(devices) // most)
    return [devices[i * len(devices) // count:(i + 1) * len(devices) // count] for i in range(count)]


def kernel_table(results, text_of, most, ops=None):
    """Tables with one row per kernel and one column per device: text_of(pipeline), and its faults."""
    cells = {}
    for device, (_, rows) in results.items():
        for r in rows:  # of several pipelines of one kernel, the one with the most registers
            if ops and r["op"] not in ops:
                continue
            key = (r["op"], r["kernel"], r["module"])
            rank = (not r["compiled"], r["spills"], r["scratch"], r["registers"] or 0)
            if rank >= cells.get(key, {}).get(device, ((False, 0, 0, -1), ""))[0]:
                cells.setdefault(key, {})[device] = (rank, ", ".join(text_of(r) + [f"**{fault}**" for fault in faults(r)]))
    lines = []
    for devices in groups_of(list(results), most):
        lines += ["| op | kernel (module) | " + " | ".join(devices) + " |", "|---|---|" + "---|" * len(devices)]
        for (op, kernel, module), row in sorted(cells.items()):
            if any(d in row for d in devices):
                lines.append(f"| {op} | {kernel} ({module}) | " + " | ".join(row[d][1] if d in row else "" for d in devices) + " |")
        lines.append("")
    return lines


def summary(results):
    """One row per device: its pipelines, and how many have which fault."""
    lines = ["| device | name | pipelines | with spills | with arrays in scratch memory | refused |", "|---|---|---|---|---|---|"]
    for device, (name, rows) in results.items():
        counts = [sum(1 for r in rows if r["spills"]), sum(1 for r in rows if r["scratch"] and not r["spills"]),
                  sum(1 for r in rows if not r["compiled"] or r["invalid"])]
        lines.append(f"| `{device}` | {name} | {len(rows)} | " + " | ".join(map(str, counts)) + " |")
    return lines


def registers_table(results):
    return kernel_table(results, registers_of, TABLE_DEVICES["registers"])


def details_table(results):
    """Registers, occupancy and cycles of the kernels that take most of a model's time."""
    return kernel_table(results, details_of, TABLE_DEVICES["details"], DETAILED)


def compiled(lab, kernel_list, device, jobs, cache):
    """The device's name, and its kernels as compile_kernel gives them."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        name, caps = caps_of(lab, device)
        (folder / "caps.json").write_text(json.dumps(caps))
        listed = subprocess.run([kernel_list, str(folder / "caps.json"), temporary], capture_output=True, text=True, check=False)
        if listed.returncode != 0:
            sys.exit(f"{device}: {listed.stderr}")
        with ThreadPool(jobs) as pool:
            rows = pool.starmap(lambda index, line: compile_kernel(lab, device, caps["driver_version"], folder, cache, index, line),
                                enumerate(listed.stdout.splitlines()), chunksize=1)
    return name, rows
