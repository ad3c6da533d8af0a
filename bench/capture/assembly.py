"""Loops in the assembly that drivers of Mesa print (ACO for AMD, NAK for NVIDIA, brw for Intel), and what they consist of.

loops(text) returns the loops of a kernel, outermost first. For each it counts the instructions of each class, the products of
matrix units (`matrix`) and the multiply-adds that a lane does otherwise (`multiply_adds`). So kernels of all vendors can be
compared: instructions per product, or per 32 multiply-adds.
"""
import collections
import re
from dataclasses import dataclass, field


@dataclass
class Instruction:
    name: str
    kind: str                # matrix, multiply_add, load, shared_load, shared_store, store, scratch, wait, barrier, branch,
    #                          sync (Intel's waits, which are not counted) or other
    multiply_adds: float = 0  # of a lane
    dots: bool = False       # its multiply-adds are a dot product's
    target: str = ""         # of a branch


@dataclass
class Loop:
    first: int               # instruction of the kernel
    depth: int
    instructions: int
    counts: collections.Counter = field(default_factory=collections.Counter)
    multiply_adds: float = 0
    in_flight: int = 0       # global loads between two waits, at most

    @property
    def size(self):
        return self.instructions - self.counts["sync"]

    @property
    def matrix(self):
        return self.counts["matrix"]

    def figure(self):
        """What to compare: (name, value), or None for a loop without arithmetic to speak of."""
        if self.matrix:
            return "other instructions per matrix instruction", (self.size - self.matrix) / self.matrix
        if self.multiply_adds >= 8 and self.size / self.multiply_adds < 20:
            return "instructions per 32 multiply-adds", self.size * 32 / self.multiply_adds
        return None


# ---- AMD

def amd_instruction(line):
    found = re.match(r"^\s+([a-z]\w*)(.*?)(?:;|$)", line)
    if not found or line.lstrip().startswith(";"):
        return None
    name, rest = found[1], found[2]
    if name.startswith(("v_wmma", "v_mfma", "v_swmma")):
        return Instruction(name, "matrix")
    if name.startswith("v_dual"):  # two in one
        both = name + rest
        fused = len(re.findall(r"dual_(?:fmac|fmaak|fmamk|fma)", both)) + 2 * len(re.findall(r"dual_dot2", both))
        return Instruction(name, "multiply_add" if fused else "other", fused)
    for prefix, count in (("v_dot8", 8), ("v_dot4", 4), ("v_dot2", 2)):
        if name.startswith(prefix):
            return Instruction(name, "multiply_add", count, dots=count > 2)
    if name.startswith(("v_pk_fma", "v_pk_mul_f16")):
        return Instruction(name, "multiply_add", 2)
    if name.startswith(("v_fma", "v_mad_f", "v_mac_f")):
        return Instruction(name, "multiply_add", 1)
    if name.startswith(("s_waitcnt", "s_wait_")):
        loads = name.startswith("s_wait_loadcnt") or "vmcnt" in rest
        return Instruction(name, "wait" if loads else "other")
    kinds = ((("ds_load", "ds_read"), "shared_load"), (("ds_store", "ds_write"), "shared_store"),
             (("global_load", "buffer_load", "flat_load"), "load"), (("global_store", "buffer_store", "flat_store"), "store"),
             (("scratch_",), "scratch"), (("s_barrier",), "barrier"))
    for prefixes, kind in kinds:
        if name.startswith(prefixes):
            return Instruction(name, kind)
    if name.startswith(("s_branch", "s_cbranch")):
        target = re.search(r"BB\d+", rest)
        return Instruction(name, "branch", target=target[0] if target else "")
    return Instruction(name, "other")


def amd(lines):
    for line in lines:
        label = re.match(r"^(BB\d+):", line)
        yield label[1] if label else amd_instruction(line)


# ---- NVIDIA

def nvidia_instruction(line):
    code = line.split("//")[0].strip()
    if not code or code.startswith(("}", "block")):
        return None
    code = re.sub(r"^@!?\w+\s+", "", code)
    name = (code.split(" = ", 1)[1] if " = " in code else code).split()[0]
    base = name.split(".")[0]
    if base == "bra":
        return Instruction(name, "branch")
    if base in ("hmma", "imma"):
        return Instruction(name, "matrix")
    products = {"ffma": 1, "hfma2": 2, "idp4": 4, "idp2": 2}
    if base in products:
        return Instruction(name, "multiply_add", products[base], dots=base == "idp4")
    kinds = (("ld.shared", "shared_load"), ("ldsm", "shared_load"), ("st.shared", "shared_store"), ("ld.global", "load"),
             ("st.global", "store"), ("ld.local", "scratch"), ("st.local", "scratch"), ("bar", "barrier"))
    kind = next((k for prefix, k in kinds if name.startswith(prefix)), "other")
    return Instruction(name, kind)


def nvidia_blocks(lines):
    """Instructions, and for each block where it begins and ends and which blocks may follow it."""
    code, blocks, number = [], {}, None
    for line in lines:
        begin, end = re.match(r"^block\S* (\d+) ", line), re.match(r"^} -> \[(.*)\]", line)
        if begin:
            number = int(begin[1])
            blocks[number] = [len(code), len(code), []]
        elif end and number is not None:
            blocks[number][1:] = [len(code), [int(n) for n in end[1].split(",") if n.strip()]]
        elif one := nvidia_instruction(line):
            code.append(one)
    return code, blocks


def natural_loops(blocks):
    """The blocks of each loop, by the block that it begins with: what reaches it again without leaving it."""
    before = collections.defaultdict(set)
    for number, (_, _, following) in blocks.items():
        for one in following:
            before[one].add(number)
    everything, first = set(blocks), min(blocks)
    dominators = {n: {n} if n == first else everything for n in blocks}
    changed = True
    while changed:
        changed = False
        for n in blocks:
            if n == first:
                continue
            inherited = [dominators[p] for p in before[n]]
            now = {n} | (set.intersection(*inherited) if inherited else set())
            changed |= now != dominators[n]
            dominators[n] = now
    found = collections.defaultdict(set)
    for number, (_, _, following) in blocks.items():
        for head in following:
            if head in dominators[number]:
                body, waiting = {head}, [number]
                while waiting:
                    if (one := waiting.pop()) not in body:
                        body.add(one)
                        waiting += before[one]
                found[head] |= body
    return found


# ---- Intel

def intel_instruction(line, lanes):
    code = line.strip()
    if not code or code.startswith(("Native", "SIMD", ";", "//")):
        return None
    code = re.sub(r"^\([^)]*\)\s*", "", code)
    name = code.split()[0]
    base = name.split(".")[0]
    if base == "dpas":
        return Instruction(name, "matrix")
    if base == "sync":
        return Instruction(name, "sync")
    if base == "while":
        return Instruction(name, "branch", target=re.search(r"L\d+", code)[0])
    width = re.search(r"^\S+ \((\d+)", code)
    share = int(width[1]) / lanes if width else 1
    if base == "dp4a":
        return Instruction(name, "multiply_add", 4 * share, dots=True)
    if base in ("mad", "mac") and re.search(r":h?f\b", code):
        return Instruction(name, "multiply_add", share)
    if base.startswith("send"):
        if "slm" in code or "SLM" in code:
            return Instruction(name, "shared_load" if "load" in code else "shared_store")
        return Instruction(name, "load" if "load" in code else "store" if "store" in code else "other")
    return Instruction(name, "other")


def intel(lines, lanes):
    for line in lines:
        label = re.match(r"^(L\d+):", line)
        yield label[1] if label else intel_instruction(line, lanes)


# ---- all

def labelled(items):
    """Instructions, and where each label stands among them."""
    code, labels = [], {}
    for item in items:
        if isinstance(item, str):
            labels[item] = len(code)
        elif item is not None:
            code.append(item)
    return code, labels


def most_in_flight(code):
    """Global loads between two waits, in a loop that is run again and again."""
    most = now = 0
    for one in code + code:
        if one.kind == "wait":
            now = 0
        elif one.kind == "load":
            now += 1
            most = max(most, now)
    return min(most, sum(one.kind == "load" for one in code))


def bodies_by_branches(code, labels):
    """The instructions of each loop, by the one that it begins with: up to the last branch back to there."""
    ends = {}
    for place, one in enumerate(code):
        if one.target in labels and labels[one.target] <= place:
            begin = labels[one.target]
            ends[begin] = max(ends.get(begin, 0), place)
    return {begin: list(range(begin, end + 1)) for begin, end in ends.items()}


def loops(text, lanes=32):
    """The loops of a kernel whose subgroups have so many lanes, by their begin; outer ones before those in them.

    AMD: two loads in flight, a product of matrices and a fused multiply-add in an inner loop.
    >>> [(l.depth, l.size, l.matrix, l.multiply_adds, l.in_flight) for l in loops(chr(10).join([
    ...     "BB0:", "  s_mov_b32 s0, 0 ; x", "BB1:", "  v_pk_fma_f16 v0, v1, v2", "BB2:", "  global_load_b128 v[0:3], v4",
    ...     "  global_load_b128 v[4:7], v4", "  s_waitcnt vmcnt(0)", "  v_wmma_f32_16x16x16_f16 v[0:7], v8", "  v_fma_f32 v0, v1, v2",
    ...     "  s_cbranch_scc1 BB2", "  s_cbranch_scc1 BB1"]))]
    [(0, 8, 1, 3, 2), (1, 6, 1, 1, 2)]

    NVIDIA: the branch back stands outside of the loop's own blocks. Beside a dot product a multiply-add only scales.
    >>> [(l.depth, l.size, l.matrix, l.multiply_adds) for l in loops(chr(10).join([
    ...     "block 0 L0 [] -> {", "  r0 = mov 0x0 // delay=1", "} -> [1]", "block 1 L1 [0, 3] -> {", "  r1 = idp4.s8.s8 r2 r3 r4 // x",
    ...     "  r1 = ffma r2 r3 r4 // x", "} -> [3, 2]", "block 2 L2 [1] -> {", "  exit // x", "} -> []", "block 3 L3 [1] -> {",
    ...     "  bra L1 // x", "} -> [1]"]))]
    [(0, 3, 0, 4)]

    Intel: a multiply-add of 16 lanes is half of one for a subgroup of 32, and waits are no work.
    >>> [(l.size, l.multiply_adds) for l in loops(chr(10).join([
    ...     "L1:", "  mad (16)   r1:f  r2:f  r3:f  r4:f", "  sync.nop (1)", "(~f0.0) while (32)    L1"]), 32)]
    [(2, 0.5)]
    """
    lines = text.replace("\0", "").splitlines()
    if any(re.match(r"^block\S* \d+ ", line) for line in lines):
        code, blocks = nvidia_blocks(lines)
        bodies = {blocks[head][0]: sorted(i for n in body for i in range(*blocks[n][:2]))
                  for head, body in natural_loops(blocks).items()}
    else:
        is_amd = any(re.match(r"^BB\d+:", line) for line in lines)
        code, labels = labelled(amd(lines) if is_amd else intel(lines, lanes))
        bodies = bodies_by_branches(code, labels)
    found = []
    for begin, places in sorted(bodies.items()):
        body = [code[i] for i in places]
        depth = sum(begin in set(other) for other in bodies.values()) - 1
        loop = Loop(begin, depth, len(body), collections.Counter(one.kind for one in body), in_flight=most_in_flight(body))
        dots = any(one.dots for one in body)  # beside dot products, multiply-adds only scale sums
        loop.multiply_adds = sum(one.multiply_adds for one in body if one.dots or not dots)
        # with the arithmetic of the one around it, it is the same loop with a second branch back
        if not any(begin in set(other) and other != places and arithmetic_of(code, other) == arithmetic_of(code, places)
                   for other in bodies.values()):
            found.append(loop)
    return found


def arithmetic_of(code, places):
    return [i for i in places if code[i].kind in ("matrix", "multiply_add")]
