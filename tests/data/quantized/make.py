"""Blocks of Q8_0 and Q4_0 as the gguf package makes them (ggml's reference in numpy): writes blocks.safetensors
beside this file.

values f32 [rows, 32], and for each type its blocks as bytes and what they stand for. Needs numpy, gguf and safetensors.
"""
import os

import numpy
from gguf import GGMLQuantizationType, quants
from safetensors.numpy import save_file

random = numpy.random.default_rng(4)
rows = [random.standard_normal(32) for _ in range(12)]  # three groups of 8 blocks, the last one half full
rows += [random.standard_normal(32) * 0.02 for _ in range(3)]  # as weights are
rows.append(numpy.zeros(32))
rows.append(-numpy.abs(random.standard_normal(32)))  # one sign only
rows.append(numpy.abs(random.standard_normal(32)))
rows.append(numpy.linspace(-1, 1, 32))  # the two ends have the same magnitude: the first one counts
rows.append(numpy.linspace(1, -1, 32))
rows[-1][3] = 0
rows.append(numpy.arange(32) / 2 - 7.75)  # quants of Q4_0 that lie near ties
rows.append(numpy.where(numpy.arange(32) == 5, 127, (numpy.arange(32) - 16) + 0.5))  # ties of Q8_0: scale 1
rows.append(random.standard_normal(32) * 1e-5)  # the scale is a subnormal f16
rows.append(random.standard_normal(32) * 1e-9)  # the scale is 0 in f16
rows.append(random.standard_normal(32) * 1e5)
values = numpy.stack(rows).astype(numpy.float32)
tensors = {"values": values}
for name, kind in (("q8_0", GGMLQuantizationType.Q8_0), ("q4_0", GGMLQuantizationType.Q4_0)):
    blocks = quants.quantize(values, kind)
    tensors[name] = blocks
    tensors[name + ".values"] = quants.dequantize(blocks, kind).astype(numpy.float32)
save_file(tensors, os.path.join(os.path.dirname(os.path.abspath(__file__)), "blocks.safetensors"))
print({name: tensor.shape for name, tensor in tensors.items()})
