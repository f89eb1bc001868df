"""Checkpoints restored from packaged NLI models, for further training.

    python training/nli_restore.py PACKAGED CHECKPOINT [--whole]

PACKAGED is a folder that ``nli_export.py`` wrote. The weights are those that it holds, expanded
from int8: the outputs are the package's to float32's rounding. ``nli_train.py`` can resume from
CHECKPOINT as from its own. ``--whole`` writes a cut model (heads and neurons) as an uncut one with
the same outputs, for programs that know no other.

Needs: torch, transformers, safetensors, tokenizers, onnx.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
from pathlib import Path

import numpy as np
import onnx
import torch
from nli_graph import buckets_of
from nli_heads import shaped, widened
from nli_reader import LABELS, WORDS
from onnx import helper, numpy_helper
from safetensors.torch import save_file
from transformers import AutoModelForSequenceClassification, BertConfig, MPNetConfig

#: The classifier's place in what was exported.
_PREFIX = re.compile(r"^(?:model\.|reader\.|classifier\.(?=bert\.|mpnet\.|classifier\.))+")
#: Query, key and value of a layer, which the fused operator takes as one matrix.
_FUSED = {
    "mpnet": "mpnet.encoder.layer.{layer}.attention.attn.{part}",
    "bert": "bert.encoder.layer.{layer}.attention.self.{part}",
}
_PARTS = {"mpnet": ("q", "k", "v"), "bert": ("query", "key", "value")}


def expanded(graph: onnx.GraphProto) -> dict[str, np.ndarray]:
    """Name -> float32 array of each tensor that the graph holds, int8 ones expanded."""
    stored = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    found = {}
    for name, values in stored.items():
        if name.endswith("_int8"):
            own = name.removesuffix("_int8")
            weights = values.astype(np.float32) * stored[f"{own}_scale"].astype(np.float32)
            shape = stored.get(f"{own}_shape")
            found[own] = weights if shape is None else weights.reshape(shape)
        elif not name.endswith(("_scale", "_shape")):
            found[name] = values
    return found


def weights_of(graph: onnx.GraphProto, kind: str) -> dict[str, np.ndarray]:
    """Name in the checkpoint -> array, of a packaged model of the architecture ``kind``.

    A product's matrix has lost its name: the bias that is added next still has it.
    """
    tensors = expanded(graph)
    takes = {name: node for node in graph.node for name in node.input}
    found = {_PREFIX.sub("", name): a for name, a in tensors.items() if name.endswith("bias")}
    found |= {_PREFIX.sub("", name): a for name, a in tensors.items() if name.endswith(".weight")}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in tensors:
            (bias,) = [
                name
                for name in takes[node.output[0]].input
                if name.endswith(".bias") and "LayerNorm" not in name
            ]
            own = _PREFIX.sub("", bias).removesuffix(".bias")
            found[f"{own}.weight"] = tensors[node.input[1]].T
    fused = [node for node in graph.node if node.op_type == "Attention"]
    for layer, node in enumerate(fused):
        for name, array in (("weight", tensors[node.input[1]].T), ("bias", tensors[node.input[2]])):
            for part, own in zip(_PARTS[kind], np.split(array, 3), strict=True):
                found[f"{_FUSED[kind].format(layer=layer, part=part)}.{name}"] = own
    return found


def attribute(graph: onnx.GraphProto, operator: str, name: str) -> float:
    """Return an attribute of the first node of an operator."""
    node = next(n for n in graph.node if n.op_type == operator)
    return float(next(helper.get_attribute_value(a) for a in node.attribute if a.name == name))


def restore(package: Path, output: Path, whole: bool = False) -> None:
    """Write the checkpoint of a packaged model.

    Raises:
        SystemExit: ``output`` exists, or the package is neither of BERT nor of MPNet.
    """
    if output.exists():
        raise SystemExit(f"{output} exists")
    about = json.loads((package / "config.json").read_text(encoding="utf-8"))
    kind = about.pop("model_type")
    if kind not in _FUSED:
        raise SystemExit(f"models of type {kind} cannot be restored")
    graph = onnx.load(package / "model.onnx").graph
    weights = weights_of(graph, kind)
    layers = sum(n.op_type == "Attention" for n in graph.node)
    dense = [weights[f"{kind}.encoder.layer.{i}.intermediate.dense.weight"] for i in range(layers)]
    heads = int(attribute(graph, "Attention", "num_heads"))
    if kind == "mpnet":  # of a cut model (nli_heads.py) the table of distances has them all
        heads = weights["bias"].shape[1]
    config = {"mpnet": MPNetConfig, "bert": BertConfig}[kind](
        **about | {"id2label": dict(enumerate(LABELS))},
        hidden_size=dense[0].shape[1],
        intermediate_size=max(len(d) for d in dense),
        num_hidden_layers=layers,
        num_attention_heads=heads,
        layer_norm_eps=attribute(graph, "SkipLayerNormalization", "epsilon"),
    )
    model = AutoModelForSequenceClassification.from_config(config)
    if "kept_heads" in about:
        config.kept_neurons = [len(d) for d in dense]
        model = shaped(model)
    words = {name: weights.pop(f"words.{name}", None) for name in ("weight", "bias")}
    if kind == "mpnet":
        biases = weights.pop("bias")[0].T  # of distances
        buckets = buckets_of(model.mpnet)
        table = model.mpnet.encoder.relative_attention_bias.weight.detach().numpy().copy()
        table[buckets] = biases
        weights["mpnet.encoder.relative_attention_bias.weight"] = table
    kept = {k: torch.from_numpy(np.array(v)) for k, v in weights.items() if k in model.state_dict()}
    missing = [
        k for k in model.load_state_dict(kept, strict=False).missing_keys if "position_ids" not in k
    ]
    if missing:
        raise SystemExit(f"{package} lacks {', '.join(missing)}")
    if whole and "kept_heads" in about:
        model = widened(model)
    output.mkdir(parents=True)
    model.save_pretrained(output)
    if words["weight"] is not None:
        layer = {k: torch.from_numpy(np.array(v)) for k, v in words.items()}
        save_file(layer, output / WORDS)
    for name in ("tokenizer.json", "calibration.json"):
        shutil.copy(package / name, output)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("package", type=Path)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--whole", action="store_true", help="write a cut model as an uncut one")
    arguments = parser.parse_args()
    restore(arguments.package, arguments.checkpoint, arguments.whole)


if __name__ == "__main__":
    main()
