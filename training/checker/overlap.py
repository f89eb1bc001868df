"""Texts shared with evaluation files, by runs of eight words."""

from __future__ import annotations

import csv
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

RUN_WORDS = 8
_WORD = re.compile(r"\w+")
_FACTORS = np.random.default_rng(8).integers(1, 2**63, RUN_WORDS, dtype=np.uint64) | np.uint64(1)
#: Globs of evaluation files; of HaluEval qa, rows from 8000 on.
EVALUATION = (
    "grounded/*_dev.jsonl", "plain/*.jsonl", "forms/*.jsonl", "cases/*.jsonl", "begin/*.tsv",
    "halueval/*.jsonl", "truthfulqa/*", "wikibio_gpt3/*.jsonl", "ragtruth_test/*.jsonl",
    "refchecker/*.jsonl", "qa/*.json*", "checkembed/*.json", "nli/*_dev.jsonl", "nli/*_test.jsonl",
    "nli/textfooler_*.jsonl", "nli/rte_*.jsonl",
)  # fmt: skip
_QA_HELD_OUT_FROM = 8000


def _hashes(text: str) -> NDArray[np.uint64]:
    words = _WORD.findall(text.lower())
    return np.fromiter((zlib.crc32(w.encode()) + 1 for w in words), np.uint64, len(words))


def runs(text: str) -> NDArray[np.uint64]:
    """Return a hash of each run of eight words; of a shorter text, none."""
    words = _hashes(text)
    if len(words) < RUN_WORDS:
        return np.zeros(0, np.uint64)
    windows = np.lib.stride_tricks.sliding_window_view(words, RUN_WORDS)
    mixed = (windows ^ (windows >> np.uint64(7))) * _FACTORS
    return np.asarray(mixed.sum(axis=1, dtype=np.uint64))


def texts_of(value: Any) -> Iterator[str]:
    """Yield every string of more than seven words in a JSON value."""
    if isinstance(value, str):
        if value.count(" ") >= RUN_WORDS - 1:
            yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts_of(item)
    elif isinstance(value, list):
        if value and all(isinstance(item, str) for item in value):
            yield " ".join(value)
        else:
            for item in value:
                yield from texts_of(item)


def _texts(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".jsonl":
        for number, line in enumerate(text.splitlines()):
            held_out = "halueval_qa" not in path.name or number >= _QA_HELD_OUT_FROM
            if held_out and line.strip():
                yield from texts_of(json.loads(line))
    elif path.suffix == ".json":
        yield from texts_of(json.loads(text))
    elif path.suffix in (".tsv", ".csv"):
        tabs = path.suffix == ".tsv"
        quoting = csv.QUOTE_NONE if tabs else csv.QUOTE_MINIMAL
        table = csv.reader(text.splitlines(True), delimiter="\t" if tabs else ",", quoting=quoting)
        for cells in table:
            yield from texts_of([[cell] for cell in cells])


@dataclass
class Overlap:
    """Runs of words of evaluation files, by file."""

    files: dict[str, NDArray[np.uint64]]
    hits: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Path, globs: Sequence[str] = EVALUATION) -> Overlap:
        files = {}
        for path in sorted({p for glob in globs for p in data.glob(glob)}):
            if path.suffix in (".jsonl", ".json", ".tsv", ".csv"):
                parts = [runs(text) for text in _texts(path)]
                whole = np.concatenate(parts) if parts else np.zeros(0, np.uint64)
                files[str(path.relative_to(data))] = np.unique(whole)
        return cls(files)

    @property
    def everything(self) -> NDArray[np.uint64]:
        return np.unique(np.concatenate(list(self.files.values())))

    def shared(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return for each text how many of its runs occur in an evaluation file."""
        parts = [runs(text) for text in texts]
        sizes = np.array([len(p) for p in parts])
        whole = np.concatenate([*parts, np.zeros(0, np.uint64)])
        found = np.zeros(len(whole), bool)
        for name, own in self.files.items():
            if len(own):
                at = np.minimum(np.searchsorted(own, whole), len(own) - 1)
                hit = own[at] == whole
                texts_hit = np.unique(np.repeat(np.arange(len(parts)), sizes)[hit])
                self.hits[name] = self.hits.get(name, 0) + len(texts_hit)
                found |= hit
        counts = np.zeros(len(parts), np.int64)
        np.add.at(counts, np.repeat(np.arange(len(parts)), sizes), found)
        return counts
