"""The NLI cross-encoder in training: token pairs, three classes, word layer."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from nli_heads import shaped
from nli_stages import BOUND, DOCUMENTS, EDITED, GENERATED, TYPED, WRITTEN, Stage
from safetensors.torch import load_file, save_file
from tokenizers import Encoding, Tokenizer
from transformers import AutoConfig, AutoModelForSequenceClassification

LABELS = ("entailment", "neutral", "contradiction")
NOT_ENTAILMENT = len(LABELS)
UNKNOWN = -1
WORDS = "words.safetensors"
MAX_TOKENS = 512  # a longer pair is left out: cut, it could lose what its label rests on


@dataclass(frozen=True)
class Pair:
    """One tokenised row.

    ``label`` indexes LABELS, or is NOT_ENTAILMENT. ``wrong`` is 1 for tokens that are wrong, 0 for
    those that are not, and UNKNOWN for the rest. The premise and rows without word labels are
    UNKNOWN. ``stated`` are the places of the hypothesis.
    """

    ids: np.ndarray
    types: np.ndarray
    label: int
    source: str
    wrong: np.ndarray
    stated: range


Rows: TypeAlias = "list[dict[str, Any]]"


def tokenized(rows: Rows, tokenizer: Tokenizer, source: str, stage: Stage) -> list[Pair]:
    """Tokenize the rows that fit the model, in order."""
    made = source in (GENERATED, TYPED, EDITED, BOUND, DOCUMENTS, WRITTEN)
    if source in (GENERATED, TYPED, BOUND):  # premises that people wrote stay as they are
        rows = lengthened(rows, stage)
    encoded = tokenizer.encode_batch([(r["premise"], r["hypothesis"]) for r in rows])
    names = [*LABELS, "not_entailment"]
    return [
        Pair(
            np.array(e.ids, np.int32),
            np.array(e.type_ids, np.int32),
            names.index(row["label"]),
            row.get("source", source) if made else source,
            wrong_tokens(row, e),
            stated(e),
        )
        for row, e in zip(rows, encoded, strict=True)
        if len(e.ids) <= MAX_TOKENS
    ]


def stated(encoded: Encoding) -> range:
    """Return the places of the hypothesis's tokens."""
    places = [i for i, part in enumerate(encoded.sequence_ids) if part == 1]
    return range(places[0], places[-1] + 1) if places else range(0)


def wrong_tokens(row: dict[str, Any], encoded: Encoding) -> np.ndarray:
    """Compute ``Pair.wrong`` of a row: by its spans, or no wrong word if it is entailed.

    If words are missing from the hypothesis, no token of it can be marked: all are UNKNOWN.
    """
    spans = row.get("spans") or []
    if not spans and row.get("label") != "entailment":
        return np.full(len(encoded.ids), UNKNOWN, np.int8)
    return np.array(
        [
            UNKNOWN if part != 1 else int(any(a < end and b > start for start, end in spans))
            for part, (a, b) in zip(encoded.sequence_ids, encoded.offsets, strict=True)
        ],
        np.int8,
    )


def lengthened(rows: Rows, stage: Stage) -> Rows:
    """Join the premises of the stage's share of ``rows`` with other rows'."""
    chance = random.Random("joined")
    found = []
    for row in rows:
        if chance.random() < stage.joined:
            parts, most = [row["premise"]], chance.uniform(0, stage.premise_words)
            words = len(parts[0].split())
            while words < most:
                parts.append(chance.choice(rows)["premise"])
                words += len(parts[-1].split())
            chance.shuffle(parts)
            row = row | {"premise": " ".join(parts)}
        found.append(row)
    return found


def tensors(
    batch: list[Pair], model: Reader
) -> tuple[dict[str, torch.Tensor], torch.Tensor, torch.Tensor]:
    """Return the model's inputs, (n,) labels and (n, tokens) ``Pair.wrong``."""
    longest = max(len(p.ids) for p in batch)
    ids = torch.full((len(batch), longest), model.padding, dtype=torch.long)
    types, mask = torch.zeros_like(ids), torch.zeros_like(ids)
    wrong = torch.full_like(ids, UNKNOWN)
    for i, pair in enumerate(batch):
        n = len(pair.ids)
        ids[i, :n], types[i, :n] = torch.from_numpy(pair.ids), torch.from_numpy(pair.types)
        mask[i, :n], wrong[i, :n] = 1, torch.from_numpy(pair.wrong)
    inputs = {"input_ids": ids, "attention_mask": mask}
    if model.reads_types:
        inputs["token_type_ids"] = types
    return inputs, torch.tensor([p.label for p in batch]), wrong


class Reader(torch.nn.Module):
    """A cross-encoder with its three classes and the layer of words.

    Args:
        source: folder of a transformers checkpoint, cut (``nli_heads.py``) or whole, and of
            ``words.safetensors`` if it has been trained here.
        layers: number of layers to keep, from the first; None keeps all.
    """

    def __init__(self, source: Path, layers: int | None = None) -> None:
        super().__init__()
        fewer = {} if layers is None else {"num_hidden_layers": layers}
        config = AutoConfig.from_pretrained(
            source,
            num_labels=len(LABELS),
            id2label=dict(enumerate(LABELS)),
            label2id={label: i for i, label in enumerate(LABELS)},
            # two epochs do not overfit, and random numbers cost a seventh of the time
            attention_probs_dropout_prob=0.0,
            hidden_dropout_prob=0.0,
            **fewer,
        )
        # on CPUs several times faster backwards than fused
        eager: dict[str, Any] = {"config": config, "attn_implementation": "eager"}
        if getattr(config, "kept_heads", None):
            self.classifier = shaped(AutoModelForSequenceClassification.from_config(**eager))
            self.classifier.load_state_dict(load_file(source / "model.safetensors"))
        else:
            self.classifier = AutoModelForSequenceClassification.from_pretrained(source, **eager)
        config = self.classifier.config
        self.padding: int = config.pad_token_id or 0
        self.reads_types = getattr(config, "type_vocab_size", 0) > 1
        self.words = torch.nn.Linear(config.hidden_size, 1)
        if (source / WORDS).is_file():
            self.words.load_state_dict(load_file(source / WORDS))
        self.classifier.base_model.embeddings.word_embeddings.weight.requires_grad_(False)

    def forward(self, **inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Compute (n, 3) logits, and (n, tokens) log-odds that a token is wrong."""
        found = self.classifier(**inputs, output_hidden_states=True)
        return found.logits, self.words(found.hidden_states[-1]).squeeze(-1)

    def save(self, folder: Path, words: bool) -> None:
        """Save a checkpoint, with the layer of words if it has been trained."""
        self.classifier.save_pretrained(folder)
        if words:
            save_file(self.words.state_dict(), folder / WORDS)


@torch.inference_mode()
def read_all(model: Reader, pairs: list[Pair]) -> tuple[torch.Tensor, list[np.ndarray]]:
    """Compute (n, 3) float32 logits and each pair's log-odds of words, in order of ``pairs``."""
    model.eval()
    order = sorted(range(len(pairs)), key=lambda i: len(pairs[i].ids))
    found = torch.zeros(len(pairs), len(LABELS))
    words: list[np.ndarray] = [np.zeros(0)] * len(pairs)
    for start in range(0, len(order), 32):
        part = order[start : start + 32]
        logits, odds = model(**tensors([pairs[i] for i in part], model)[0])
        found[part] = logits.float()
        for row, i in enumerate(part):
            words[i] = odds[row, : len(pairs[i].ids)].float().numpy()
    return found, words
