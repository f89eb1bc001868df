"""What a larger model says of the pairs that a smaller one learns from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from nli_reader import MAX_TOKENS, UNKNOWN, Pair, Reader, read_all, stated
from tokenizers import Tokenizer
from torch.nn.functional import binary_cross_entropy_with_logits

PART = 2048  # pairs between two saves


class Said(NamedTuple):
    """(3,) probabilities of the classes, and those that tokens of the hypothesis are wrong."""

    classes: np.ndarray
    wrong: np.ndarray


class Teacher:
    """A checkpoint with a layer of words, asked once of each pair.

    Args:
        folder: as ``nli_train.py`` writes it; its classes are at the temperature fitted there.
        pairs: to ask about. One that is too long for it, nothing is said of.
        output: keeps the answers in ``teacher.npz``, part by part, for the next time.
    """

    def __init__(self, folder: Path, pairs: Sequence[Pair], output: Path, bf16: bool) -> None:
        texts = sorted({p.texts for p in pairs})
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._texts = {t: i for i, t in enumerate(texts)}
        kept = output / "teacher.npz"
        digest = hashlib.sha256(json.dumps(texts).encode()).hexdigest()
        classes = np.full((len(texts), 3), np.nan, np.float32)
        words: list[np.ndarray] = []
        if kept.exists():
            with np.load(kept) as before:
                if str(before["digest"]) == digest:
                    words = np.split(before["words"], np.cumsum(before["sizes"])[:-1])
                    classes = before["classes"]
        model = Reader(folder)
        calibration = json.loads((folder / "calibration.json").read_text("utf-8"))
        for start in range(len(words), len(texts), PART):
            encoded = tokenizer.encode_batch(texts[start : start + PART])
            asked = [
                Pair(
                    text,
                    np.array(e.ids, np.int32),
                    np.array(e.type_ids, np.int32),
                    0,
                    "",
                    np.full(len(e.ids), UNKNOWN, np.int8),
                    stated(e),
                )
                for text, e in zip(texts[start : start + PART], encoded, strict=True)
            ]
            short = [i for i, p in enumerate(asked) if len(p.ids) <= MAX_TOKENS]
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
                logits, odds = read_all(model, [asked[i] for i in short])
            found = torch.softmax(logits / calibration["temperature"], dim=1).numpy()
            part = [np.zeros(0, np.float16)] * len(asked)
            for i, row, odd in zip(short, found, odds, strict=True):
                classes[start + i] = row
                risks = 1 / (1 + np.exp(-odd[asked[i].stated.start : asked[i].stated.stop]))
                part[i] = risks.astype(np.float16)
            words += part
            sizes = np.array([len(w) for w in words])
            flat = np.concatenate(words)
            with (output / "teacher.tmp").open("wb") as file:
                np.savez(file, digest=digest, classes=classes, words=flat, sizes=sizes)
            (output / "teacher.tmp").replace(kept)
            print(f"teacher: {len(words)}/{len(texts)} pairs", flush=True)
        self._classes, self._words = classes, words

    def said(self, pair: Pair) -> Said:
        """NaN where nothing is said, and no words where its tokens are not the pair's."""
        at = self._texts[pair.texts]
        words = self._words[at]
        same = len(words) == len(pair.stated)
        return Said(self._classes[at], words if same else words[:0])

    def loss(
        self, batch: Sequence[Pair], logits: torch.Tensor, odds: torch.Tensor, words: float
    ) -> torch.Tensor:
        """Mean cross-entropy with the teacher's classes, and with its words at a weight."""
        found = [self.said(p) for p in batch]
        target = torch.from_numpy(np.stack([s.classes for s in found]))
        known = ~target.isnan().any(dim=1)
        each = -(target.nan_to_num() * torch.log_softmax(logits.float(), dim=1)).sum(dim=1)
        loss = each[known].sum() / len(batch)
        places = [
            (row, at, float(risk))
            for row, (pair, said) in enumerate(zip(batch, found, strict=True))
            for at, risk in zip(pair.stated, said.wrong, strict=False)
        ]
        if not places or not words:
            return loss
        rows, columns, risks = zip(*places, strict=True)
        here = odds[list(rows), list(columns)].float()
        return loss + words * binary_cross_entropy_with_logits(here, torch.tensor(risks))
