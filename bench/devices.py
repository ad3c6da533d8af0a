#!/usr/bin/env python3
"""Counts what vendors' compilers make of Vantage's kernels, without their GPUs.

usage: bench/devices.py LAB [SHAPE ...] [--devices A,B] [--build DIR] [--report FILE] [--compare FILE] [--docs FILE] [--kernels]

LAB is a command that runs programs under vendors' drivers without their GPUs (Mesa's no-op DRM shims); it needs root.
    bench/capture/capture.py, kernels.py          what it must support

For each device and each SHAPE (llama-1b; `vantage bench model --help` lists them) `vantage bench model` runs under a layer that
writes down its pipelines, their assembly and its commands: a prompt of 512 and four tokens, with weights in f16, q8 and q4, and
with --precision int8. Printed are the loops of its kernels, and a table:
    with matrix units      other instructions per matrix instruction
    without                instructions per 32 multiply-adds of a lane
    a token                dispatches and barriers; submissions up to the first token of the process

--program FILE ARGUMENT ...  captures another program in this way, a peer's, and prints its loops; give it last
--report FILE     writes the figures as JSON
--compare FILE    compares with such a report: prints what differs by 2 % or more, and exits with 1 if something got worse. With
                  another version of Mesa it only prints
--docs FILE       replaces the tables in docs/devices.md by those made now
--kernels         also compiles every kernel that a device could choose, and prints registers, occupancy and cycles. Exits with 1
                  if one spills registers, keeps arrays in scratch memory or is refused. --cache FILE keeps what was compiled,
                  --jobs N at once
Exits with 0 and says so if there is no LAB, or it cannot run here.
"""
import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "capture"))
import capture  # noqa: E402
import kernels  # noqa: E402

DEVICES = ["amd-navi10", "amd-navi21", "amd-navi31", "amd-gfx1201", "nvk-turing", "nvk-ada", "intel-skl", "intel-dg2", "intel-bmg",
           "adreno-750", "apple-m1"]
COUNTED = ("amd-", "nvk-", "intel-")  # whose assembly bench/capture/assembly.py reads
RUNS = {"f16": ["--weights", "f16"], "q8": ["--weights", "q8"], "q4": ["--weights", "q4"],
        "q8, int8": ["--weights", "q8", "--precision", "int8"], "q4, int8": ["--weights", "q4", "--precision", "int8"]}
PRODUCTS = re.compile(r"matmul|joint_linear")
SAME = 0.02  # a smaller difference is none


def registers_of(executable):
    return next((executable["statistics"][n] for n in kernels.REGISTERS if n in executable["statistics"]), None)


def spills_of(executable):
    return next((executable["statistics"][n] for n in kernels.SPILLS if n in executable["statistics"]), 0)


def loops_of(trace, all_loops=False):
    """One line for each loop: its kernel, registers, spills and figure."""
    number = {}
    for pipeline, executable, loop in trace.loops(all_loops):
        name = trace.name_of(pipeline)
        number[name] = number.get(name, -1) + 1
        what, value = loop.figure()
        yield {"kernel": name, "loop": number[name], "subgroup": executable["subgroup"], "registers": registers_of(executable),
               "spills": spills_of(executable), "instructions": loop.size, "in_flight": loop.in_flight, "what": what, "value": round(value, 1),
               "arithmetic": loop.matrix or loop.multiply_adds, "pipeline": pipeline}


def print_loops(title, lines):
    print(title)
    for one in lines:
        spills = f", {one['spills']} spilled" if one["spills"] else ""
        print(f"  {one['kernel'][:60]:60} loop {one['loop']}  {one['registers'] or '–':>4} registers{spills}  {one['value']:7.1f} {one['what']}"
              f"  ({one['instructions']} instructions, {one['in_flight']} loads in flight)")


def largest(lines, pipelines):
    """The products' loop with the most arithmetic among these pipelines."""
    return max((one for one in lines if one["pipeline"] in pipelines and PRODUCTS.match(one["kernel"])),
               key=lambda one: ("matrix" in one["what"], one["arithmetic"]), default=None)


def text_of(loop):
    if loop is None:
        return "–"
    return f"{loop['value']:.1f}" + ("" if "matrix" in loop["what"] else " /32")


def bench(options, device, shape, arguments):
    with tempfile.TemporaryDirectory() as folder:
        trace = capture.record(options.lab, device, options.build / "libvantage_capture.so", folder, options.build / "vantage",
                               ["bench", "model", "--shape", shape, *arguments, "--pp", "512", "--tg", "4", "-r", "1", "--no-start"])
        return trace, list(loops_of(trace))


def captured(options, device, shape):
    """What the runs of a shape on a device give: a row of the table, and the figures of the report."""
    row, figures, driver = {}, {}, ""
    for run, arguments in RUNS.items():
        trace, lines = bench(options, device, shape, arguments)
        driver = trace.driver
        print_loops(f"{device}, {shape}, {run}: {trace.device}, {driver}", lines)
        prompt, token = trace.prompt_pipelines(), trace.token_pipelines()
        row[f"prompt {run}"], row[f"row {run}"] = text_of(largest(lines, prompt)), text_of(largest(lines, token))
        last, first = trace.last_token(), trace.first_prompt()
        if run == "f16":
            row["dispatches"], row["barriers"], row["submissions"] = last["dispatches"], last["barriers"], first
        for one in lines:
            figures[f"{one['kernel']}, loop {one['loop']}"] = one["value"]
            figures[f"{one['kernel']}, spilled registers"] = one["spills"]
        figures |= {f"{run}: {what} of a token": last[what] for what in ("dispatches", "barriers")}
        figures[f"{run}: submissions of the first prompt"] = first
    return row, {name: value for name, value in figures.items() if value != 0}, driver


def tables(rows):
    """A table of prompts and one of tokens, with one row per device."""
    lines = []
    for what, more in (("prompt", ["submissions"]), ("row", ["dispatches", "barriers"])):
        heads = [f"{what} {run}" for run in RUNS] + more
        lines += [f"| {'prompt' if what == 'prompt' else 'token'} | " + " | ".join([*RUNS, *more]) + " |", "|---|" + "---|" * len(heads)]
        lines += [f"| `{device}` | " + " | ".join(str(row[head]) for head in heads) + " |" for device, row in rows.items()] + [""]
    return lines


def compare(before, now):
    """Prints what differs; whether something got worse that the same compiler had made."""
    worse = False
    for key, device in now.items():
        old = before.get(key)
        if old is None:
            print(f"{key}: not in the report")
            continue
        same = old["driver"] == device["driver"]
        if not same:
            print(f"{key}: {old['driver']} then, {device['driver']} now: differences are printed only")
        for name, value in device["figures"].items():
            then = old["figures"].get(name)
            if then is None:
                print(f"{key}: new: {name}: {value}")
                worse |= same and "spilled" in name
            elif abs(value - then) > SAME * max(abs(then), 1):
                print(f"{key}: {'worse' if value > then else 'better'}: {name}: {then} → {value}")
                worse |= same and value > then
        for name, then in old["figures"].items():
            if name not in device["figures"]:
                print(f"{key}: gone: {name}: {then}")
    return worse


def put_in(file, name, lines):
    """Replaces what stands between the two marks of this name in a page."""
    text = Path(file).read_text()
    begin, end = f"<!-- {name}: bench/devices.py -->\n", f"<!-- end of {name} -->"
    if begin not in text or end not in text:
        sys.exit(f"{file}: the marks of {name} are missing")
    head, rest = text.split(begin, 1)
    Path(file).write_text(head + begin + "\n".join(lines).strip("\n") + "\n" + end + rest.split(end, 1)[1])


def compile_kernels(options):
    """Whether kernels have faults."""
    cache, results, bad = kernels.Cache(options.cache), {}, 0
    for device in options.devices:
        name, rows = kernels.compiled(options.lab, str(options.build / "vantage_kernel_list"), device, options.jobs, cache)
        results[device] = (name, rows)
        for r in rows:
            if kernels.faults(r):
                bad += 1
                print(f"{device}: {r['op']}/{r['kernel']} ({r['module']} {r['spec']}): " + ", ".join(kernels.faults(r)))
        print(f"{device}: {name}: {len(rows)} pipelines", flush=True)
    print("\n".join(kernels.details_table(results)))
    if options.docs:
        put_in(options.docs, "registers", kernels.registers_table(results))
        put_in(options.docs, "devices", kernels.summary(results))
    return bad > 0


def peer(options):
    program, *arguments = options.program
    for device in options.devices:
        with tempfile.TemporaryDirectory() as folder:
            trace = capture.record(options.lab, device, options.build / "libvantage_capture.so", folder, program, arguments)
            print_loops(f"{device}: {trace.device}, {trace.driver}", loops_of(trace, all_loops=True))


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("lab")
    parser.add_argument("shapes", nargs="*")
    parser.add_argument("--devices", type=lambda text: text.split(","), default=DEVICES)
    parser.add_argument("--build", type=Path, default=Path("build/release"))
    for file in ("--report", "--compare", "--docs", "--cache"):
        parser.add_argument(file)
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--program", nargs=argparse.REMAINDER)
    return parser.parse_intermixed_args() if "--program" not in sys.argv else parser.parse_args()


def main():
    options = parsed()
    if not shutil.which(options.lab) or os.geteuid() != 0:
        print(f"skipped: {'there is no ' + options.lab if not shutil.which(options.lab) else 'root is needed'}")
        return 0
    if options.program:
        peer(options)
        return 0
    shapes, report = {}, {}
    for shape in options.shapes:
        for device in filter(lambda name: name.startswith(COUNTED), options.devices):
            try:
                row, figures, driver = captured(options, device, shape)
            except RuntimeError as error:  # its driver says that it has too little memory, for example
                print(f"not counted: {error}")
                continue
            shapes.setdefault(shape, {})[device] = row
            report[f"{device}, {shape}"] = {"driver": driver, "figures": figures}
    for shape, rows in shapes.items():
        print("\n".join(["", shape, "", *tables(rows)]))
    if options.report:
        Path(options.report).write_text(json.dumps(report, indent=1) + "\n")
    if options.docs and shapes:
        put_in(options.docs, "figures", [line for shape, rows in shapes.items() for line in [f"`{shape}`:", "", *tables(rows)]])
    bad = False
    if options.compare:
        before = json.loads(Path(options.compare).read_text())
        wanted = [f"{device}, {shape}" for shape in options.shapes for device in options.devices]
        missing = [key for key in wanted if key in before and key not in report]
        for key in missing:
            print(f"{key}: in the report, but not counted now")
        bad = compare(before, report) or bool(missing)
    if options.kernels:
        bad |= compile_kernels(options)
    return 1 if bad else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (RuntimeError, OSError) as error:
        sys.exit(f"devices.py: {error}")
