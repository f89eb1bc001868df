"""Packaged NLI models from checkpoints of ``training/nli_train.py``.

    python training/nli_export.py CHECKPOINT OUTPUT [--pairs JSONL] [--stochastic]

CHECKPOINT is a transformers folder of a BERT or an MPNet for sequence classification, with
``calibration.json`` and, where its words are trained, ``words.safetensors``. OUTPUT gets:

* ``model.onnx``: fused attention and layer norms, int8 weights, float32 activations
  (``onnx_weights.py``). Its outputs are ``logits`` and, of trained words, ``words``.
* ``tokenizer.json`` without a cut or padding, ``config.json``, ``calibration.json``.
* ``ranges.npz``, by which its 8-bit form is made, and ``SHA256SUMS``.

Its model card and licence are left as they are. The same checkpoint and library versions give the
same bytes.

With ``--pairs`` (a line each: ``{"premise": ..., "hypothesis": ...}``) the packaged model is first
compared with the checkpoint in float32. Below :data:`SAME_LABEL` or above :data:`MEAN_SHIFT`
nothing is written and the exit code is 1. Pairs longer than the model's input are left out.
``--stochastic`` is for a checkpoint that was trained on from ``nli_restore.py``'s: see
:func:`onnx_weights.quantise`.

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
from nli_graph import graph_of
from nli_reader import LABELS, WORDS, Pair, Reader, read_all, tensors, tokenized
from nli_stages import STAGES
from onnx_weights import GROUP, checksums, compress, fused_graph, write_tokenizer
from tokenizers import Tokenizer
from transformers import AutoConfig

from veridical.errors import ModelError
from veridical.models.nli.int8 import RANGES, content_of, range_pairs, ranges_of
from veridical.models.nli.onnx import OnnxNli

FILES = ("model.onnx", "tokenizer.json", "config.json", "calibration.json", RANGES)
#: Keys that ``config.json`` keeps: tokens, labels and the longest input follow from them.
CONFIG = ("model_type", "max_position_embeddings", "pad_token_id", "type_vocab_size", "vocab_size")
#: Width from which fewer and shorter scales are kept: a file may have at most 90 MB.
WIDE = 768
#: Least share of pairs of the same most probable class, and largest mean shift of a probability.
SAME_LABEL, MEAN_SHIFT = 0.99, 0.005
BATCH = 32


@dataclass(frozen=True)
class Agreement:
    """Agreement of two models: share of equal labels, shifts of the calibrated probabilities."""

    pairs: int
    same_label: float
    mean_shift: float
    max_shift: float
    words_shift: float  # mean, of the probability that a token is wrong

    @classmethod
    def of(cls, ours: np.ndarray, original: np.ndarray, words_shift: float) -> Agreement:
        """Between two arrays (pairs, 3) of probabilities."""
        shift = np.abs(ours - original)
        same = (ours.argmax(1) == original.argmax(1)).mean()
        return cls(len(ours), float(same), float(shift.mean()), float(shift.max()), words_shift)

    @property
    def good(self) -> bool:
        """Close enough to be shipped."""
        worst = max(self.mean_shift, self.words_shift)
        return self.same_label >= SAME_LABEL and worst <= MEAN_SHIFT

    def __str__(self) -> str:
        return (
            f"{self.pairs} pairs: same label {self.same_label:.4f}, "
            f"|dp| mean {self.mean_shift:.5f}, max {self.max_shift:.4f}, "
            f"of words mean {self.words_shift:.5f}"
        )


def load(checkpoint: Path) -> Reader:
    """Load the float32 classifier of the folder ``checkpoint``.

    Raises:
        SystemExit: its classes are not LABELS in this order.
    """
    named = AutoConfig.from_pretrained(checkpoint).id2label
    if tuple(named[i] for i in sorted(named)) != LABELS:
        raise SystemExit(f"{checkpoint}: classes are {named}, not {LABELS}")
    return Reader(checkpoint).eval()


class _Logits(torch.nn.Module):
    """The logits as the only output: of models whose words are not trained."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.model(*inputs)[0]
        return logits


def export(model: Reader, words: bool, stochastic: bool = False) -> onnx.ModelProto:
    """Export the packaged graph.

    It maps (batch, sequence) ids, mask and, of BERT, types to (batch, 3) ``logits`` and, with
    ``words``, (batch, sequence) ``words``.
    """
    config, module = model.classifier.config, graph_of(model)
    outputs = ["logits", "words"] if words else ["logits"]
    axes = {name: {0: "batch", 1: "sequence"} for name in (*module.inputs, *outputs[1:])}
    graph = fused_graph(
        module if words else _Logits(module),
        module.inputs,
        outputs,
        axes | {"logits": {0: "batch"}},
        layers=config.num_hidden_layers,
        heads=config.num_attention_heads,
        hidden=config.hidden_size,
    )
    wide = config.hidden_size >= WIDE
    chance = np.random.default_rng(0) if stochastic else None
    compress(graph, 2 * GROUP if wide else GROUP, half=wide, chance=chance)
    return graph


def pairs_of(path: Path, tokenizer: Tokenizer) -> list[Pair]:
    """Read the pairs of a JSON Lines file that fit the model.

    Raises:
        SystemExit: no pair does.
    """
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    tokenizer.no_truncation()
    tokenizer.no_padding()
    pairs = tokenized(rows, tokenizer, path.stem, STAGES["base"])
    if not pairs:
        raise SystemExit(f"{path} has no pair that fits the model")
    return pairs


def agreement(graph: bytes, model: Reader, pairs: list[Pair], temperature: float) -> Agreement:
    """Compare the packaged graph with the model in torch."""
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    taken = {i.name for i in session.get_inputs()}
    pairs = sorted(pairs, key=lambda p: len(p.ids))
    logits, words = [], []
    tells = len(session.get_outputs()) > 1
    for start in range(0, len(pairs), BATCH):
        batch = pairs[start : start + BATCH]
        inputs = {k: v.numpy() for k, v in tensors(batch, model)[0].items() if k in taken}
        found = session.run(["logits", "words"] if tells else ["logits"], inputs)
        logits.append(found[0])
        words += [row[: len(p.ids)] for row, p in zip(found[-1], batch, strict=True) if tells]
    original, original_words = read_all(model, pairs)
    both = (torch.from_numpy(np.concatenate(logits)), original)
    shift = 0.0
    if tells:
        ours, theirs = (torch.from_numpy(np.concatenate(w)) for w in (words, original_words))
        shift = float((ours.sigmoid() - theirs.sigmoid()).abs().mean())
    return Agreement.of(*(torch.softmax(p / temperature, 1).numpy() for p in both), shift)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--pairs", type=Path, help="JSON Lines file of pairs to compare on")
    parser.add_argument(
        "--stochastic", action="store_true", help="round up or down by chance: see quantise"
    )
    arguments = parser.parse_args()
    checkpoint, output = arguments.checkpoint, arguments.output
    calibration = (checkpoint / "calibration.json").read_text(encoding="utf-8")
    model = load(checkpoint)
    words = (checkpoint / WORDS).is_file()
    graph = export(model, words, arguments.stochastic).SerializeToString(deterministic=True)
    if arguments.pairs:
        pairs = pairs_of(arguments.pairs, Tokenizer.from_file(str(checkpoint / "tokenizer.json")))
        found = agreement(graph, model, pairs, json.loads(calibration)["temperature"])
        print(found)
        if not found.good:
            raise SystemExit("too far from the checkpoint: nothing is written")
    output.mkdir(parents=True, exist_ok=True)
    (output / "model.onnx").write_bytes(graph)
    write_tokenizer(checkpoint, output)
    config = {name: getattr(model.classifier.config, name, 0) for name in CONFIG} | {
        "id2label": dict(enumerate(LABELS)),
        "label2id": {label: i for i, label in enumerate(LABELS)},
    }
    if heads := getattr(model.classifier.config, "kept_heads", None):
        config["kept_heads"] = heads
    (output / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    (output / "calibration.json").write_text(calibration, encoding="utf-8")
    names = [name for name in FILES if name != RANGES or _write_ranges(output)]
    print(checksums(output, names), end="")


def _write_ranges(folder: Path) -> bool:
    """Write the ranges for the 8-bit form of a packaged model.

    Returns False if that form does not agree with float32: the model then runs in float32 only.
    """
    path = folder / "model.onnx"
    (folder / RANGES).unlink(missing_ok=True)
    exact = OnnxNli(folder, labels=",".join(LABELS))
    ranges = ranges_of(path, exact.forwards(range_pairs()))
    try:
        OnnxNli(folder, labels=",".join(LABELS), precision="int8")
    except ModelError as e:
        print(f"no {RANGES}: {e}")
        return False
    (folder / RANGES).write_bytes(content_of(ranges))
    return True


if __name__ == "__main__":
    main()
