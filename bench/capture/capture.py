"""Runs a program under a vendor's driver without its GPU, and reads what the capture layer (layer.cpp) wrote down.

LAB is a command that must support
    LAB exec DEVICE FOLDER -- COMMAND …    run COMMAND under the driver of DEVICE; FOLDER is its working folder
Submissions return at once and compute nothing, so results mean nothing; pipelines and commands are those of a real run.
"""
import json
import re
import shutil
import subprocess
from pathlib import Path

import assembly

LAYER = "VK_LAYER_VANTAGE_capture"
FILTER = re.compile(r"matmul|joint_linear|expert_|attention")  # names of Vantage's kernels whose loops take the time


def libraries_of(program):
    """The shared libraries of a program, but for the system's own, which a tree of another release must not replace."""
    listed = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
    own = re.compile(r"/(ld-linux|libc\.|libm\.|libdl\.|libpthread\.|librt\.|libstdc\+\+|libgcc_s|libvulkan)")
    return [p for p in re.findall(r"=> (/\S+)", listed) if not own.search(p)]


def record(lab, device, layer, folder, program, arguments):
    """Runs PROGRAM ARGUMENTS in `folder`, an empty one, and returns its trace. Raises RuntimeError if there is none."""
    folder, program = Path(folder), Path(program)
    (folder / "lib").mkdir()
    (folder / "out").mkdir()
    shutil.copy(program, folder / "program")
    shutil.copy(layer, folder / "layer.so")
    for library in libraries_of(program):
        shutil.copy(library, folder / "lib")
    (folder / "layer.json").write_text(json.dumps({"file_format_version": "1.2.0", "layer": {
        "name": LAYER, "type": "GLOBAL", "library_path": "./layer.so", "api_version": "1.3.0", "implementation_version": "1",
        "description": "Writes down pipelines and commands"}}))
    settings = {"VANTAGE_CAPTURE": "out", "VK_ADD_LAYER_PATH": ".", "VK_INSTANCE_LAYERS": LAYER, "LD_LIBRARY_PATH": "lib",
                "HOME": "/tmp", "VANTAGE_CACHE_DIR": "cache", "VANTAGE_DISABLE_TUNING": "1"}
    command = [lab, "exec", device, str(folder), "--", "env", *(f"{k}={v}" for k, v in settings.items()), "./program", *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    file = folder / "out" / "trace.jsonl"
    if ran.returncode != 0 or not file.exists():
        last = (ran.stdout + ran.stderr).strip().splitlines()[-1:] or ["no Vulkan instance was made"]
        raise RuntimeError(f"{device}: the program ended with {ran.returncode}: {last[0]}")
    return Trace(file)


class Trace:
    def __init__(self, file):
        self.folder = Path(file).parent
        self.pipelines, self.names, self.commands, self.submissions = {}, {}, {}, []
        self.device = self.driver = ""
        for line in map(json.loads, Path(file).read_text().splitlines()):
            if "device" in line:
                self.device, self.driver = line["device"], line["driver"]
            elif "pipeline" in line:
                self.pipelines[line["pipeline"]] = line
            elif "name" in line:
                self.names[line["of"]] = line["name"]
            elif "commands" in line:
                self.commands[line["commands"]] = line["list"]
            elif "submit" in line:
                self.submissions.append([event for number in line["submit"] for event in self.commands[number]])

    def name_of(self, pipeline):
        """Without the last constants that are 0: one that a kernel gets later leaves the names in a kept report."""
        return re.sub(r"(, 0)+\)", ")", self.names.get(pipeline, self.pipelines[pipeline]["module"]))

    def dispatched(self):
        """Pipelines that were submitted, in the order of their first dispatch."""
        seen = {}
        for events in self.submissions:
            for event in events:
                if event[0] in ("dispatch", "indirect"):
                    seen.setdefault(event[1], None)
        return list(seen)

    def ends_token(self, events):
        return any(event[0] == "dispatch" and self.name_of(event[1]).startswith("sample") for event in events)

    def pipelines_until(self, first, last):
        """The pipelines that submissions `first` to `last` (excluded) dispatch."""
        return {event[1] for events in self.submissions[first:last] for event in events if event[0] in ("dispatch", "indirect")}

    def ends(self):
        return [i for i, events in enumerate(self.submissions) if self.ends_token(events)]

    def prompt_pipelines(self):
        return self.pipelines_until(0, (self.ends() or [len(self.submissions)])[0] + 1)

    def token_pipelines(self):
        ends = self.ends()
        return self.pipelines_until(ends[-2] + 1, ends[-1] + 1) if len(ends) > 1 else set()

    def first_prompt(self):
        """Submissions with dispatches up to the first token; None if there was no token."""
        ends = self.ends()
        return sum(any(event[0] == "dispatch" for event in events) for events in self.submissions[:ends[0] + 1]) if ends else None

    def last_token(self):
        """Dispatches, barriers and submissions between the last two tokens."""
        ends = self.ends()
        if len(ends) < 2:
            raise RuntimeError(f"{self.device}: fewer than two tokens were drawn")
        part = self.submissions[ends[-2] + 1:ends[-1] + 1]
        events = [event for events in part for event in events]
        return {"dispatches": sum(event[0] in ("dispatch", "indirect") for event in events),
                "barriers": sum(event[0] == "barrier" for event in events), "submissions": len(part)}

    def loops(self, all_loops=False):
        """For each dispatched pipeline its loops with arithmetic: (pipeline, its executable, Loop)."""
        for pipeline in self.dispatched():
            if not all_loops and pipeline in self.names and not FILTER.match(self.names[pipeline]):
                continue
            for one in self.pipelines[pipeline].get("executables", []):
                text = (self.folder / one["assembly"]).read_text(errors="replace")
                for loop in assembly.loops(text, one["subgroup"] or 32):
                    if loop.figure():
                        yield pipeline, one, loop
