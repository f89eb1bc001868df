"""Image files and tiny checkpoints of image models, written for tests."""

from __future__ import annotations

import base64
import io
import json
import random
from pathlib import Path
from typing import Any

import numpy as np

from veridical.core.images import Picture, url_of

#: A PNG file of a single point, by another program.
POINT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5E"
    "rkJggg=="
)
DOT = url_of(POINT)


def noise(width: int, height: int, seed: int = 0) -> Any:
    """A Pillow image of random points, blurred into patches so that resizing leaves something."""
    from PIL import Image

    small = np.random.default_rng(seed).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    return Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC)


def discs(count: int, seed: int) -> str:
    """The URL of a picture of ``count`` red discs on white, at places that the seed draws."""
    from PIL import Image, ImageDraw

    draw = random.Random(seed)
    image = Image.new("RGB", (256, 256), "white")
    for place in draw.sample(range(9), count):
        x, y = place % 3 * 85 + draw.randint(0, 12), place // 3 * 85 + draw.randint(0, 12)
        ImageDraw.Draw(image).ellipse((x, y, x + 68, y + 68), fill=(200, 30, 40))
    return url_of(encoded(image))


def encoded(image: Any, kind: str = "PNG", **options: Any) -> bytes:
    """The bytes of a file of ``image``."""
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def picture(image: Any, kind: str = "PNG") -> Picture:
    """``image`` as a record holds it."""
    return Picture(url_of(encoded(image, kind)))


def preparation(folder: Path, **changed: Any) -> None:
    """``preprocessor_config.json`` as CLIP's, for images of 32 points a side."""
    config: dict[str, Any] = {
        "crop_size": {"height": 32, "width": 32},
        "do_center_crop": True,
        "do_convert_rgb": True,
        "do_normalize": True,
        "do_rescale": True,
        "do_resize": True,
        "image_mean": [0.48145466, 0.4578275, 0.40821073],
        "image_processor_type": "CLIPImageProcessor",
        "image_std": [0.26862954, 0.26130258, 0.27577711],
        "resample": 3,
        "rescale_factor": 1 / 255,
        "size": {"shortest_edge": 32},
        **changed,
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(config), "utf-8")


def clip_checkpoint(folder: Path) -> Path:
    """A CLIP of two layers, as the hub holds it, with random weights."""
    import torch
    from transformers import CLIPConfig, CLIPModel

    torch.manual_seed(0)
    sides = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
    config = CLIPConfig(
        text_config={**sides, "num_attention_heads": 4, "vocab_size": 99},
        vision_config={**sides, "num_attention_heads": 4, "image_size": 32, "patch_size": 8},
        projection_dim=24,
    )
    CLIPModel(config).save_pretrained(folder)
    preparation(folder)
    return folder


def vit_checkpoint(folder: Path, kind: str) -> Path:
    """A model of images alone: ``vit`` has a pooled output, ``dinov2`` a first token."""
    import torch
    import transformers as t

    torch.manual_seed(1)
    config_of, model_of = {
        "vit": (t.ViTConfig, t.ViTModel),
        "dinov2": (t.Dinov2Config, t.Dinov2Model),
    }[kind]
    config = config_of(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        image_size=32,
        patch_size=8,
    )
    model_of(config).save_pretrained(folder)
    preparation(folder)
    return folder


def clip_graph(folder: Path, checkpoint: Path, name: str = "vision_model.onnx") -> Path:
    """The image half of a CLIP checkpoint as an ONNX folder, as exporters write it."""
    import torch
    from transformers import CLIPModel

    class Vision(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = CLIPModel.from_pretrained(checkpoint).eval()

        def forward(self, pixel_values: torch.Tensor) -> Any:
            made = self.model.vision_model(pixel_values=pixel_values)
            return made.last_hidden_state, self.model.visual_projection(made.pooler_output)

    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.onnx.export(
        Vision(),
        (torch.zeros(2, 3, 32, 32),),
        str(path),
        input_names=["pixel_values"],
        output_names=["last_hidden_state", "image_embeds"],
        dynamic_axes={
            n: {0: "batch"} for n in ("pixel_values", "last_hidden_state", "image_embeds")
        },
        opset_version=17,
        dynamo=False,
    )
    preparation(folder)
    return folder
