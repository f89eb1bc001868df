"""Local checkpoints with equal weights for both sides.

Runs in the environment "checkpoints".

    python checkpoints.py --out FOLDER --tokenizer tokenizer.json --pairs pairs.json
                          [--shape minilm|deberta-v3-base] [--source FOLDER] [--encoder FOLDER]

Writes three folders, each as transformers reads it and with the graph ONNX Runtime reads:

* ``two``: entailment, contradiction, as selfcheckgpt takes it;
* ``three``: contradiction, neutral, entailment, the order that uqlm assumes;
* ``encoder``: sentence-transformers, mean pooling.

Without ``--source`` (a trained three-class classifier) weights are random. The head is set so that
every class occurs among the pairs of ``pairs.json``, or clusters would be trivial. In ``three``
both segments of a BERT have one embedding. Release 0.6.1 of uqlm joins the two texts by [SEP] as
one segment. That alone would make it disagree with every other reader of the model. For the model
it is meant for, a DeBERTa, that makes no difference.
"""

from __future__ import annotations

import argparse
import copy
import json
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoModel,
    AutoModelForSequenceClassification,
    BertConfig,
    BertTokenizerFast,
    DebertaV2Config,
)

LABELS = ("contradiction", "neutral", "entailment")
SPREAD = 1.0  # standard deviation of a random head's logits


def config(shape: str, vocabulary: int) -> Any:
    """Return the sizes of all-MiniLM-L6-v2 or deberta-v3-base, with the available vocabulary.

    An embedding table costs memory and no time.
    """
    if shape == "minilm":
        return BertConfig(
            vocab_size=vocabulary,
            hidden_size=384,
            num_hidden_layers=6,
            num_attention_heads=12,
            intermediate_size=1536,
            initializer_range=0.1,
        )
    return DebertaV2Config(
        vocab_size=vocabulary,
        hidden_size=768,
        num_hidden_layers=12,
        num_attention_heads=12,
        intermediate_size=3072,
        max_position_embeddings=512,
        type_vocab_size=0,
        relative_attention=True,
        position_buckets=256,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        pos_att_type=["p2c", "c2p"],
        position_biased_input=False,
        initializer_range=0.06,
    )


def classifier(a: argparse.Namespace, tokenizer: Any) -> Any:
    """Load or make the three-class model, in the order of LABELS."""
    if a.source:
        model = AutoModelForSequenceClassification.from_pretrained(
            a.source, attn_implementation="eager"
        )
        names = {n.lower(): i for i, n in model.config.id2label.items()}
        return relabel(model, [names[n] for n in LABELS], LABELS)
    if a.encoder and a.shape == "minilm":
        model = AutoModelForSequenceClassification.from_pretrained(
            a.encoder, num_labels=3, attn_implementation="eager"
        )
    else:
        sizes = config(a.shape, len(tokenizer))
        sizes.num_labels = 3
        model = AutoModelForSequenceClassification.from_config(sizes, attn_implementation="eager")
    model.eval()
    pairs = [tuple(p) for p in json.loads(a.pairs.read_text(encoding="utf-8"))]
    with torch.inference_mode():
        logits = torch.cat([model(**tokenizer(*p, return_tensors="pt")).logits for p in pairs])
    with torch.no_grad():
        scale = SPREAD / logits.std(0)
        model.classifier.weight *= scale[:, None]
        model.classifier.bias.copy_(-logits.mean(0) * scale)
    return relabel(model, [0, 1, 2], LABELS)


def relabel(model: Any, rows: list[int], labels: tuple[str, ...]) -> Any:
    """Copy ``model`` with a head of these ``rows``, called ``labels``."""
    model = copy.deepcopy(model).eval()
    head = torch.nn.Linear(model.classifier.in_features, len(rows))
    with torch.no_grad():
        head.weight.copy_(model.classifier.weight[rows])
        head.bias.copy_(model.classifier.bias[rows])
    model.classifier = head
    model.num_labels = len(rows)
    model.config.id2label = dict(enumerate(labels))
    model.config.label2id = {n: i for i, n in enumerate(labels)}
    return model


class Graph(torch.nn.Module):
    """A model to export, with positional inputs and one output."""

    def __init__(self, model: Any, inputs: list[str], output: str) -> None:
        super().__init__()
        self.model, self.inputs, self.output = model, inputs, output

    def forward(self, *given: torch.Tensor) -> torch.Tensor:
        return self.model(**dict(zip(self.inputs, given, strict=True)))[self.output]


def save(model: Any, tokenizer: Any, folder: Path, output: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    encoded = tokenizer("one text", "another text", return_tensors="pt")
    inputs = ["input_ids", "attention_mask"]
    if model.config.type_vocab_size:
        inputs.append("token_type_ids")
    axes = {n: {0: "batch", 1: "sequence"} for n in inputs}
    axes[output] = {0: "batch"} if output == "logits" else {0: "batch", 1: "sequence"}
    torch.onnx.export(
        Graph(model, inputs, output).eval(),
        tuple(encoded[n] for n in inputs),
        str(folder / "model.onnx"),
        input_names=inputs,
        output_names=[output],
        dynamic_axes=axes,
        opset_version=17,
        dynamo=False,
    )


def save_encoder(a: argparse.Namespace, tokenizer: Any) -> None:
    """Save in the layout of sentence-transformers, with the architecture's own length limit."""
    folder = a.out / "encoder"
    if a.encoder:
        model = AutoModel.from_pretrained(a.encoder, attn_implementation="eager")
    else:
        model = AutoModel.from_config(config("minilm", len(tokenizer)), attn_implementation="eager")
    save(model.eval(), tokenizer, folder, "last_hidden_state")
    kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    modules = [
        {"idx": i, "name": str(i), "path": p, "type": f"sentence_transformers.models.{k}"}
        for i, (p, k) in enumerate(kinds.items())
    ]
    pooling = {"word_embedding_dimension": 384, "pooling_mode_mean_tokens": True}
    for place, content in {
        "modules.json": modules,
        "1_Pooling/config.json": pooling,
        "sentence_bert_config.json": {"max_seq_length": 512, "do_lower_case": False},
    }.items():
        (folder / place).parent.mkdir(exist_ok=True)
        (folder / place).write_text(json.dumps(content), encoding="utf-8")
    (folder / "2_Normalize").mkdir(exist_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--shape", default="minilm", choices=("minilm", "deberta-v3-base"))
    parser.add_argument("--source")
    parser.add_argument("--encoder")
    a = parser.parse_args()
    torch.manual_seed(0)
    tokenizer = BertTokenizerFast(tokenizer_file=str(a.tokenizer), model_max_length=512)
    three = classifier(a, tokenizer)
    two = relabel(three, [2, 0], ("entailment", "contradiction"))
    save(two, tokenizer, a.out / "two", "logits")
    if three.config.type_vocab_size == 2:
        with torch.no_grad():
            table = three.base_model.embeddings.token_type_embeddings.weight
            table[1] = table[0]
    save(three, tokenizer, a.out / "three", "logits")
    save_encoder(a, tokenizer)


if __name__ == "__main__":
    main()
