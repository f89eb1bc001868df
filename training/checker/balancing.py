"""Equal labels, mixed lengths, and how much a statement alone gives away."""

from __future__ import annotations

import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence

import numpy as np

from checker.examples import Example, content, digest, tokens

NEGATION = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|nicht|kein\w*|pas|sans"
    r"|nunca|non|não|niet|geen)\b|n't\b",
    re.IGNORECASE,
)
LEAST_TOKENS, MOST_TOKENS = 20, 1500
#: Share of rows whose document is lengthened by unrelated passages, where it is not a half.
PADDED = {"nli_sentences": 0.1, "edited_claim": 0.2, "cited": 0.0, "written": 0.2}
#: Kinds of generated rows whose documents may lengthen others.
PASSAGES = {
    "table", "table_computed", "record", "record_computed", "prose", "prose_computed", "times",
    "amounts", "two_passages",
}  # fmt: skip
_WORD = re.compile(r"\w+")


def strata(rows: Sequence[Example]) -> list[Hashable]:
    """Return for each row its source and part, if it is negated, and its third of lengths."""
    lengths: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        lengths[row.source].append(len(row.statement.split()))
    cuts = {source: np.quantile(own, [1 / 3, 2 / 3]) for source, own in lengths.items()}
    return [
        (
            r.source,
            r.part,
            bool(NEGATION.search(r.statement)),
            int(np.searchsorted(cuts[r.source], len(r.statement.split()))),
        )
        for r in rows
    ]


def balanced(rows: Sequence[Example], rng: random.Random) -> list[Example]:
    """Return as many right rows as wrong ones of each source, negation and length."""
    groups: dict[Hashable, tuple[list[Example], list[Example]]] = {}
    for row, stratum in zip(rows, strata(rows), strict=True):
        groups.setdefault(stratum, ([], []))[row.right].append(row)
    kept: list[Example] = []
    for stratum in sorted(groups, key=repr):
        wrong, right = groups[stratum]
        size = min(len(wrong), len(right))
        kept += rng.sample(right, size)
        by_label: dict[str, list[Example]] = defaultdict(list)
        for row in rng.sample(wrong, len(wrong)):
            by_label[row.label].append(row)
        taken: list[Example] = []
        while len(taken) < size:  # of each wrong label in turn
            for label in sorted(by_label):
                if by_label[label] and len(taken) < size:
                    taken.append(by_label[label].pop())
        kept += taken
    return kept


def at_most(
    rows: Sequence[Example], most: int, rng: random.Random, key: Callable[[Example], Hashable]
) -> list[Example]:
    """Return at most ``most`` rows, whole groups of ``key`` at a time."""
    groups: dict[Hashable, list[Example]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    order = list(groups)
    rng.shuffle(order)
    kept: list[Example] = []
    for group in order:
        if len(kept) + len(groups[group]) <= most:
            kept += groups[group]
    return kept


# --- lengths --------------------------------------------------------------------------------


def _marks(text: str) -> set[str]:
    """Return names, numbers and words that carry meaning."""
    return {w for w in content(text) if len(w) > 2 or w.isdigit()}


def unrelated(statement: str, passage: str) -> bool:
    """Return True if a passage shares few words, and no name in the middle, with a statement."""
    marks = _marks(statement)
    names = {w.lower() for w in re.findall(r"(?<=[^.!?\n] )[A-Z]\w{3,}", statement)}
    found = marks & _marks(passage)
    return len(found) <= 0.2 * len(marks) and not names & found


def _pool(row: Example) -> tuple[str, str]:
    """Return where the passages that lengthen a row come from."""
    return ("generated" if row.topic else row.kind), row.part


def lengthened(rows: Sequence[Example], rng: random.Random) -> list[Example]:
    """Return the rows, half of them with unrelated passages of their kind before and after.

    Documents of both labels are lengthened alike. A generated document is lengthened by records,
    prose and the like about something else: two configurations, say, would contradict each other.
    """
    pools: dict[tuple[str, str], list[Example]] = defaultdict(list)
    for row in rows:
        if tokens(row.document) < 400 and (not row.topic or row.kind in PASSAGES):
            pools[_pool(row)].append(row)
    kept = []
    for row in rows:
        size = tokens(row.document)
        target = math.exp(rng.uniform(math.log(80), math.log(MOST_TOKENS)))
        if rng.random() >= PADDED.get(row.kind, 0.5) or size > target:
            kept.append(row)
            continue
        before: list[str] = []
        after: list[str] = []
        seen = {row.group}
        for _ in range(60):
            other = rng.choice(pools[_pool(row)] or [row])
            more = tokens(other.document)
            if size + more > min(target * 1.2, MOST_TOKENS) or other.group in seen:
                continue
            same = row.topic and other.topic == row.topic
            if same or not unrelated(row.statement, other.document):
                continue
            seen.add(other.group)
            (before if rng.random() < 0.5 else after).append(other.document)
            size += more
            if size > target:
                break
        kept.append(row.with_(document="\n\n".join([*before, row.document, *after])))
    return kept


def fitting(rows: Sequence[Example]) -> list[Example]:
    """Return the rows that are neither too short nor too long, each once."""
    seen: dict[str, Example] = {}
    for row in rows:
        size = tokens(row.document) + tokens(row.statement)
        blank = not row.document.strip() or not row.statement.strip()
        if not blank and LEAST_TOKENS <= size <= MOST_TOKENS * 1.1:
            seen.setdefault(digest(f"{row.document}\x1f{row.statement}"), row)
    return list(seen.values())


# --- what a statement alone gives away --------------------------------------------------------


def statement_only(rows: Sequence[Example], folds: int = 5) -> float:
    """Return the accuracy of naive Bayes over the words of statements, cross-validated by group."""
    right = 0.0
    texts = [set(_WORD.findall(r.statement.lower())) for r in rows]
    fold = [int(digest(r.group)[:4], 16) % folds for r in rows]
    for held in range(folds):
        counts: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
        sizes = Counter(r.right for r, f in zip(rows, fold, strict=True) if f != held)
        for row, words, f in zip(rows, texts, fold, strict=True):
            if f != held:
                counts[row.right].update(words)
        for row, words, f in zip(rows, texts, fold, strict=True):
            if f == held:
                odds = sum(
                    math.log((counts[True][w] + 1) / (sizes[True] + 2))
                    - math.log((counts[False][w] + 1) / (sizes[False] + 2))
                    for w in words
                )
                right += 0.5 if odds == 0 else (odds > 0) == row.right
    return right / max(1, len(rows))
