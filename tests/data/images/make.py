#!/usr/bin/env python3
"""Makes the pictures and expected values beside it, by Pillow and transformers' ViTImageProcessorPil:
   python3 make.py   (numpy, python3-pil, python3-transformers, safetensors)
The files here were made with Pillow 13.0.0 and transformers 5.12.1.

photo.png     a 53 x 37 picture of gradients, waves and noise: RGB
photo.jpg     the same, as a JPEG with halved colour planes
kinds.safetensors      name of a picture in kinds/ -> u8 [h, w, 3], what Pillow's convert("RGB") makes of it
resized.safetensors    "FILTER HEIGHTxWIDTH" -> u8 [h, w, 3], photo.png resized
processed.safetensors  name of a case in processors.json -> f32 [C, H, W], photo.png preprocessed ("grey": grey.png)
"""
import json
import os

import numpy as np
from PIL import Image
from safetensors.numpy import save_file
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

os.chdir(os.path.dirname(os.path.abspath(__file__)))
os.makedirs("kinds", exist_ok=True)
random = np.random.default_rng(5)


def photo(height=37, width=53):
    y, x = np.mgrid[0:height, 0:width]
    planes = [4.8 * x, 255 * (0.5 + 0.5 * np.sin(x * y / 40)), 6.9 * y + 0 * x]
    return np.clip(np.stack(planes, -1) + random.normal(0, 12, (height, width, 3)), 0, 255).astype(np.uint8)


picture = Image.fromarray(photo())
picture.save("photo.png", optimize=True)
picture.save("photo.jpg", quality=85)

small = Image.fromarray(photo(9, 14))
alpha = Image.fromarray(random.integers(0, 256, (9, 14), dtype=np.uint8))
with_alpha = small.copy()
with_alpha.putalpha(alpha)
kinds = {
    "rgb.png": (small, {}),
    "alpha.png": (with_alpha, {}),
    "grey.png": (small.convert("L"), {}),
    "grey_alpha.png": (with_alpha.convert("LA"), {}),
    "black_and_white.png": (small.convert("1"), {}),
    "palette.png": (small.quantize(11), {}),
    "palette_alpha.png": (small.quantize(11), {"transparency": 3}),
    "grey.jpg": (small.convert("L"), {"quality": 90}),
    "progressive.jpg": (small, {"quality": 90, "progressive": True, "subsampling": 0}),
    "cmyk.jpg": (small.convert("CMYK"), {"quality": 95}),
}
arrays = {}
for name, (image, options) in kinds.items():
    image.save("kinds/" + name, **options)
    arrays[name] = np.asarray(Image.open("kinds/" + name).convert("RGB")).copy()
arrays["photo.jpg"] = np.asarray(Image.open("photo.jpg")).copy()
arrays["photo.png"] = np.asarray(Image.open("photo.png")).copy()
save_file(arrays, "kinds.safetensors")

filters = ["nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"]
sizes = [(16, 16), (24, 40), (61, 90), (37, 20), (7, 53)]
save_file({f"{name} {h}x{w}": np.asarray(picture.resize((w, h), resample=number))
           for number, name in enumerate(filters) for h, w in sizes}, "resized.safetensors")

cases = {
    "usual": dict(size={"height": 32, "width": 32}),
    "number": dict(size=24, resample=3, image_mean=[0.485, 0.456, 0.406], image_std=[0.229, 0.224, 0.225]),
    "edge_and_crop": dict(size={"shortest_edge": 30}, resample=3, do_center_crop=True, crop_size=24),
    "list": dict(size=[16, 24], do_center_crop=True, crop_size=[12, 14]),
    "both_edges": dict(size={"shortest_edge": 30, "longest_edge": 40}),  # the longer one decides
    "both_edges_shorter": dict(size={"shortest_edge": 20, "longest_edge": 40}),
    "height_and_width_at_most": dict(size={"max_height": 25, "max_width": 30}),
    "crop_tall": dict(do_resize=False, do_center_crop=True, crop_size={"height": 40, "width": 21}),
    "crop_beyond": dict(do_resize=False, do_center_crop=True, crop_size={"height": 41, "width": 48},
                        do_normalize=False),
    "bytes": dict(size={"height": 16, "width": 24}, do_rescale=False, do_normalize=False),
    "offset": dict(size={"height": 16, "width": 24}, rescale_factor=1 / 127.5, image_mean=1.0, image_std=1.0),
}
processed = {name: ViTImageProcessorPil(**options)(picture, return_tensors="np")["pixel_values"][0].astype(np.float32)
             for name, options in cases.items()}
clip = {
    "clip": dict(size={"shortest_edge": 30}, crop_size={"height": 24, "width": 24}),
    "clip_number": dict(size=21, crop_size=20),
    "clip_tall_crop": dict(size=28, crop_size={"height": 33, "width": 20}, resample=2),  # padded with black
}
processed.update({name: CLIPImageProcessorPil(**options)(picture, return_tensors="np")["pixel_values"][0].astype(np.float32)
                  for name, options in clip.items()})
grey = small.convert("L")  # of kinds/grey.png
cases["grey"] = dict(size={"height": 24, "width": 40}, image_mean=[0.5], image_std=[0.25])
processed["grey"] = ViTImageProcessorPil(**cases["grey"])(Image.merge("RGB", [grey] * 3), return_tensors="np",
                                                          image_mean=0.5, image_std=0.25)["pixel_values"][0][:1].copy()
save_file(processed, "processed.safetensors")
with open("processors.json", "w") as file:
    kinds = [("ViTImageProcessor", cases), ("CLIPImageProcessor", clip)]
    json.dump({name: {"image_processor_type": kind, **options} for kind, some in kinds for name, options in some.items()},
              file, indent=1)
    file.write("\n")
