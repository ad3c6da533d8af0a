#!/usr/bin/env python3
"""Documents of random tokens that repeat after 4 to 99 of them, as a file of token ids for `vantage train --data`.

    python3 repeats.py OUT.safetensors [DOCUMENTS]

Such documents can only be predicted by looking at what followed the same token before: food for induction heads.
"""
import array
import json
import random
import sys

LENGTH, VOCAB, EOT = 256, 2048, 0


def main(path, documents=2000):
    rnd, tokens, starts = random.Random(5), array.array("i"), array.array("q")
    for _ in range(documents):
        starts.append(len(tokens))
        period = [rnd.randrange(1, VOCAB) for _ in range(rnd.randrange(4, 100))]
        tokens.extend((period * (LENGTH // len(period) + 1))[:LENGTH] + [EOT])
    parts = {"tokens": ("I32", tokens), "documents": ("I64", starts)}
    header, at = {}, 0
    for name, (kind, values) in parts.items():
        size = len(values) * values.itemsize
        header[name] = {"dtype": kind, "shape": [len(values)], "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, values in parts.values():
            file.write(values.tobytes())


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
