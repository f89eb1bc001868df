"""Makes the embedded NLI model from a checkpoint of ``training/nli_train.py``.

    python training/nli_export.py CHECKPOINT [OUTPUT] [--pairs JSONL]

CHECKPOINT is a transformers folder of ``BertForSequenceClassification`` with ``calibration.json``
beside it. OUTPUT gets ``model.onnx`` (fused attention and layer norms, int8 weights, float32
activations: ``onnx_weights.py``), ``tokenizer.json`` without a cut or padding, ``config.json``,
``calibration.json`` and ``SHA256SUMS``; its model card and licence are left as they are. The same
checkpoint and library versions give the same bytes.

With ``--pairs`` (a line each: ``{"premise": ..., "hypothesis": ...}``) the packaged model is first
compared with the checkpoint in float32; below :data:`SAME_LABEL` or above :data:`MEAN_SHIFT`
nothing is written and the exit code is 1. Pairs longer than the model's input are left out.

Needs: torch, transformers, safetensors, tokenizers, onnx and onnxruntime.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import dataclass
from pathlib import Path

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before onnxruntime is imported

import numpy as np
import onnx
import onnxruntime
import torch
from onnx_weights import checksums, compress, fused_graph, write_tokenizer
from tokenizers import Encoding, Tokenizer
from transformers import AutoModelForSequenceClassification

OUTPUT = Path(__file__).parents[1] / "src/veridical/models/data/veridical-nli-mini"
LABELS = ("entailment", "neutral", "contradiction")
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
FILES = ("model.onnx", "tokenizer.json", "config.json", "calibration.json")
#: What ``config.json`` keeps: what the tokens, the labels and the longest input follow from.
CONFIG = ("model_type", "max_position_embeddings", "pad_token_id", "type_vocab_size", "vocab_size")
#: Least share of pairs of the same most probable class, and largest mean shift of a probability.
SAME_LABEL, MEAN_SHIFT = 0.99, 0.005
BATCH = 32


class Logits(torch.nn.Module):
    """The classifier with its logits as the only output."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor
    ) -> torch.Tensor:
        inputs = (input_ids, attention_mask, token_type_ids)
        return self.model(**dict(zip(INPUTS, inputs, strict=True))).logits


@dataclass(frozen=True)
class Agreement:
    """How far two models agree: share of equal labels, shifts of the calibrated probabilities."""

    pairs: int
    same_label: float
    mean_shift: float
    max_shift: float

    @classmethod
    def of(cls, ours: np.ndarray, original: np.ndarray) -> Agreement:
        """Between two arrays (pairs, 3) of probabilities."""
        shift = np.abs(ours - original)
        same = (ours.argmax(1) == original.argmax(1)).mean()
        return cls(len(ours), float(same), float(shift.mean()), float(shift.max()))

    @property
    def good(self) -> bool:
        """Close enough to be shipped."""
        return self.same_label >= SAME_LABEL and self.mean_shift <= MEAN_SHIFT

    def __str__(self) -> str:
        return (
            f"{self.pairs} pairs: same label {self.same_label:.4f}, "
            f"|dp| mean {self.mean_shift:.5f}, max {self.max_shift:.4f}"
        )


def load(checkpoint: Path) -> torch.nn.Module:
    """The float32 classifier of the folder ``checkpoint``.

    Raises:
        SystemExit: its classes are not LABELS in this order.
    """
    model = AutoModelForSequenceClassification.from_pretrained(
        checkpoint, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    named = model.config.id2label
    if tuple(named[i] for i in sorted(named)) != LABELS:
        raise SystemExit(f"{checkpoint}: classes are {named}, not {LABELS}")
    return model


def export(model: torch.nn.Module) -> onnx.ModelProto:
    """The packaged graph: (batch, sequence) ids, mask and types to (batch, 3) logits."""
    config = model.config
    axes = {name: {0: "batch", 1: "sequence"} for name in INPUTS} | {"logits": {0: "batch"}}
    graph = fused_graph(
        Logits(model),
        INPUTS,
        "logits",
        axes,
        layers=config.num_hidden_layers,
        heads=config.num_attention_heads,
        hidden=config.hidden_size,
    )
    compress(graph)
    return graph


def batches(tokenizer: Tokenizer, path: Path, longest: int) -> list[dict[str, np.ndarray]]:
    """The pairs of a JSON Lines file as inputs, padded, in batches of like length."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    encoded = tokenizer.encode_batch([(r["premise"], r["hypothesis"]) for r in rows])
    kept = sorted((e for e in encoded if len(e.ids) <= longest), key=lambda e: len(e.ids))
    if not kept:
        raise SystemExit(f"{path} has no pair that fits the model")
    return [padded(kept[i : i + BATCH]) for i in range(0, len(kept), BATCH)]


def padded(encoded: list[Encoding]) -> dict[str, np.ndarray]:
    """One batch of int64 arrays (pairs, tokens), by the names of INPUTS."""
    arrays = {name: np.zeros((len(encoded), len(encoded[-1].ids)), np.int64) for name in INPUTS}
    for row, e in enumerate(encoded):
        for name, values in zip(INPUTS, (e.ids, e.attention_mask, e.type_ids), strict=True):
            arrays[name][row, : len(values)] = values
    return arrays


def agreement(
    graph: bytes, model: torch.nn.Module, inputs: list[dict[str, np.ndarray]], temperature: float
) -> Agreement:
    """How far the packaged graph agrees with the model in torch."""
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    logits = np.concatenate([session.run(["logits"], batch)[0] for batch in inputs])
    with torch.inference_mode():
        original = torch.cat(
            [model(**{k: torch.from_numpy(v) for k, v in batch.items()}).logits for batch in inputs]
        )
    both = (torch.from_numpy(logits), original)
    return Agreement.of(*(torch.softmax(part / temperature, 1).numpy() for part in both))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("output", type=Path, nargs="?", default=OUTPUT)
    parser.add_argument("--pairs", type=Path, help="JSON Lines file of pairs to compare on")
    arguments = parser.parse_args()
    checkpoint, output = arguments.checkpoint, arguments.output
    calibration = (checkpoint / "calibration.json").read_text(encoding="utf-8")
    model = load(checkpoint)
    graph = export(model).SerializeToString(deterministic=True)
    if arguments.pairs:
        tokenizer = Tokenizer.from_file(str(checkpoint / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        inputs = batches(tokenizer, arguments.pairs, model.config.max_position_embeddings)
        found = agreement(graph, model, inputs, json.loads(calibration)["temperature"])
        print(found)
        if not found.good:
            raise SystemExit("too far from the checkpoint: nothing is written")
    output.mkdir(parents=True, exist_ok=True)
    (output / "model.onnx").write_bytes(graph)
    write_tokenizer(checkpoint, output)
    config = {name: getattr(model.config, name) for name in CONFIG} | {
        "id2label": dict(enumerate(LABELS)),
        "label2id": {label: i for i, label in enumerate(LABELS)},
    }
    (output / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    (output / "calibration.json").write_text(calibration, encoding="utf-8")
    print(checksums(output, FILES), end="")


if __name__ == "__main__":
    main()
