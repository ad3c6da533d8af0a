#!/usr/bin/env python3
"""Figures of ncnn on its first Vulkan device, as JSON for compare.py. Needs ncnn's Python module, built with Vulkan.

    python3 ncnn_ops.py ops                       matrix products, attention and norms in f32
    python3 ncnn_ops.py model …                   nothing: ncnn has no GPT-2 of its own

The time of an op is that of a network of LONG equal layers minus that of one layer, so that transfers of operands and results
do not count. Weights are zeros.
"""
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from work import D, HEADS, N, WORK

LONG = 9

# Layers as in lines of a .param file: type, parameters, and number of inputs in addition to the previous layer's output.
# Shapes are ncnn's: width, height, channels.
LAYERS = {
    "matmul 512^3": ("Gemm", "3=1 5=1 6=1 8=512 9=512 10=-1", 0, (512, 512)),  # b is a constant [n, k], c is absent
    "matmul 1024^3": ("Gemm", "3=1 5=1 6=1 8=1024 9=1024 10=-1", 0, (1024, 1024)),
    "matmul matvec 4096^2": ("InnerProduct", f"0=4096 1=0 2={4096 ** 2}", 0, (4096,)),
    "attention 8 heads d128 n1024": ("SDPA", "5=0", 2, (D, N, HEADS)),
    "layer_norm 1024x4096": ("LayerNorm", "0=4096 1=1e-5 2=1", 0, (4096, 1024)),
    "rms_norm 1024x4096": ("RMSNorm", "0=4096 1=1e-5 2=1", 0, (4096, 1024)),
    "add 4096x1024": ("BinaryOp", "0=0", 1, (1024, 4096)),
    "softmax 8x1024x1024": ("Softmax", "0=-1 1=1", 0, (1024, 1024, 8)),
}


def network(kind, parameters, others, length):
    """text of a .param file: `length` such layers in a row; further inputs are all the network's own"""
    copies = [f"x{i}" for i in range(1 + others * length)]
    lines = ["Input data 0 1 data", f"Split split 1 {len(copies)} data {' '.join(copies)}"]
    blobs, now, spare = 1 + len(copies), copies[0], iter(copies[1:])
    for i in range(length):
        inputs = [now, *(next(spare) for _ in range(others))]
        now = "output" if i == length - 1 else f"y{i}"
        lines.append(f"{kind} layer{i} {len(inputs)} 1 {' '.join(inputs)} {now} {parameters}")
        blobs += 1
    return "\n".join(["7767517", f"{len(lines)} {blobs}", *lines]) + "\n"


def seconds(ncnn, folder, text, shape, repeats=5):
    path = Path(folder) / "net.param"
    path.write_text(text)
    net = ncnn.Net()
    net.opt.use_vulkan_compute = True
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    if net.load_param(str(path)) != 0 or net.load_model(ncnn.DataReaderFromEmpty()) != 0:
        raise RuntimeError(f"ncnn refuses {text.splitlines()[4]}")
    operand = ncnn.Mat(shape if len(shape) > 1 else shape[0])
    operand.fill(0.01)

    def timed():
        begin = time.perf_counter()
        extractor = net.create_extractor()
        extractor.input("data", operand)
        result, _ = extractor.extract("output")
        if result != 0:
            raise RuntimeError(f"ncnn cannot run {text.splitlines()[4]}")
        return time.perf_counter() - begin
    timed()
    return statistics.median(timed() for _ in range(repeats))


def ops(ncnn):
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (kind, parameters, others, shape) in LAYERS.items():
            try:
                long, short = (seconds(ncnn, folder, network(kind, parameters, others, n), shape) for n in (LONG, 1))
            except RuntimeError as problem:  # a version without this layer
                print(problem, file=sys.stderr)
                continue
            figures[name] = 1e-9 * WORK[name] * (LONG - 1) / (long - short)
    return figures


def main(what, *_):
    import ncnn
    if not ncnn.build_with_gpu() or ncnn.get_gpu_count() == 0:
        sys.exit("ncnn sees no Vulkan device")
    device = f"ncnn {ncnn.__version__}, its Vulkan device 0"
    print(json.dumps({"device": device, **(ops(ncnn) if what == "ops" else {})}))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
