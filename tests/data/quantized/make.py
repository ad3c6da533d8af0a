"""Blocks of ggml's quantized types: writes blocks.safetensors beside this file.

values f32 [rows, 32]. For q8_0, q4_0, q4_1, q5_0 and q5_1 its blocks as the gguf package makes them (ggml's reference
in numpy), and what they stand for. For q4_k, q5_k and q6_k weights f32 [16, 256], and what the blocks that ggml makes of
them stand for. For all but q8_0 and q4_0 blocks of random bits, and what they stand for: TYPE.random.

Needs numpy, gguf, safetensors and ggml's library (Debian: python3-gguf, python3-safetensors, libggml-base0).
"""
import ctypes
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


def numbers(blocks, kind):
    return quants.dequantize(blocks, kind).astype(numpy.float32)


def random_blocks(kind, count, halves):
    """Any bits but for the f16 scales, which are finite"""
    blocks = random.integers(0, 256, (count, quants.GGML_QUANT_SIZES[kind][1]), dtype=numpy.uint8)
    for at in halves:
        blocks[:, at:at + 2] = random.standard_normal((count, 1)).astype(numpy.float16).view(numpy.uint8)
    return blocks


Q = GGMLQuantizationType
for name, kind in (("q8_0", Q.Q8_0), ("q4_0", Q.Q4_0), ("q4_1", Q.Q4_1), ("q5_0", Q.Q5_0), ("q5_1", Q.Q5_1)):
    blocks = quants.quantize(values[:-1] if name.endswith("_1") else values, kind)  # minima beyond f16 are infinities
    tensors[name] = blocks
    tensors[name + ".values"] = numbers(blocks, kind)
for name, kind, halves in (("q4_1", Q.Q4_1, (0, 2)), ("q5_0", Q.Q5_0, (0,)), ("q5_1", Q.Q5_1, (0, 2)),
                           ("q4_k", Q.Q4_K, (0, 2)), ("q5_k", Q.Q5_K, (0, 2)), ("q6_k", Q.Q6_K, (208,))):
    blocks = random_blocks(kind, 9, halves)  # more than a group
    tensors[name + ".random"] = blocks
    tensors[name + ".random.values"] = numbers(blocks, kind)

ggml = ctypes.CDLL("libggml-base.so.0")
ggml.ggml_quantize_chunk.restype = ctypes.c_size_t
weights = (random.standard_normal((16, 256)) * 0.02).astype(numpy.float32)
weights[1] *= numpy.repeat(2.0 ** numpy.arange(-4, 4), 32)  # blocks of different sizes
weights[2] += 0.05  # most of one sign
weights[3] = numpy.abs(weights[3])
weights[4] = random.standard_t(3, 256) * 0.02  # some far from the others
weights[5] = 0
weights[6, :128] = 0
tensors["weights"] = weights
for name, kind in (("q4_k", Q.Q4_K), ("q5_k", Q.Q5_K), ("q6_k", Q.Q6_K)):
    blocks = numpy.zeros((16, quants.GGML_QUANT_SIZES[kind][1]), dtype=numpy.uint8)
    ggml.ggml_quantize_chunk(ctypes.c_int(int(kind)), weights.ctypes.data_as(ctypes.c_void_p),
                             blocks.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(0), ctypes.c_int64(16), ctypes.c_int64(256), None)
    tensors[name + ".weights"] = numbers(blocks, kind)
save_file(tensors, os.path.join(os.path.dirname(os.path.abspath(__file__)), "blocks.safetensors"))
print({name: tensor.shape for name, tensor in tensors.items()})
