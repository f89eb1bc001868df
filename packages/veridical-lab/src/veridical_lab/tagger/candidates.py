"""Candidate claims of a sentence: tagged triplets, and rule-based clauses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from veridical.arrays import Floats
from veridical.claims.claim import Claim
from veridical.claims.triplets import statement
from veridical.text.words import lettered_spans
from veridical_lab.tagger.decode import (
    BEGIN,
    HEAD,
    OUTSIDE,
    RELATION,
    Frame,
    frames_beside,
    tails_of,
)
from veridical_lab.tagger.features import Sentence, beside_rows, word_rows

if TYPE_CHECKING:
    from veridical_lab.tagger.model import Networks, Selection

#: Thresholds on tail shares: few words per tail at the highest, whole phrases at the lowest. The
#: selection chooses among them.
THRESHOLDS = (0.15, 0.35, 0.6)
#: Words without which a statement says the opposite.
_DENIALS = frozenset(
    {"not", "n't", "n’t", "never", "no", "nor", "neither", "none", "nobody", "nothing", "without"}
    | {"hardly", "rarely", "barely"}
)
_ALIKE = 0.7  # token F1 with a better claim above which one says the same again
_UNTOLD = (
    0.4  # minimum share of a clause's words missing from all chosen claims: the clause is then kept
)


@dataclass(frozen=True, eq=False)
class Candidate:
    """Candidate claim.

    Attributes:
        own: indices of the sentence's words that it uses.
        by_rules: whether the rules found it, not the tagger.
        features: (:func:`candidate_width`,) input of the selection.
    """

    claim: Claim
    own: frozenset[int]
    by_rules: bool
    features: Floats


def candidates(
    networks: Networks,
    text: str,
    start: int,
    number: int,
    sentence: Sentence,
    rules: Sequence[Claim],
) -> list[Candidate]:
    """Return the candidates of one sentence, each statement once.

    Args:
        text: of the sentence, citations blanked.
        start: its offset in the response.
        number: its index.
        sentence: as the encoder has it.
        rules: claims that the rules (the extractor ``triplets``) find in it.
    """
    read = networks.project(sentence)
    found: dict[str, Candidate] = {}
    for frame, measures in _frames(networks, read):
        claim = _claim(text, start, number, read, frame)
        own = _words_of(frame)
        means = [
            read.vectors[slice(*frame.tail)].mean(axis=0),
            read.vectors[slice(*frame.head)].mean(axis=0),
            read.vectors[list(frame.relation)].mean(axis=0),
        ]
        features = np.concatenate([measures, *means])
        found.setdefault(claim.text, Candidate(claim, frozenset(own), False, features))
    n = len(read.words)
    for claim in rules:
        inside = claim.parts or ((claim.start, claim.end),)
        own = {
            i for i, w in enumerate(read.words) if any(a <= start + w.start < b for a, b in inside)
        }
        if own:
            is_triplet = claim.triplet is not None
            kind = [0.0, float(is_triplet), float(not is_triplet)]
            place = [float(len(own)), 0, 0, 0, n, min(own) / n, 0, 0, 0]
            mean = read.vectors[sorted(own)].mean(axis=0)
            features = np.concatenate([kind, np.zeros(8), place, mean, 0 * mean, 0 * mean])
            found.setdefault(claim.text, Candidate(claim, frozenset(own), True, features))
    return list(found.values())


def _frames(networks: Networks, read: Sentence) -> list[tuple[Frame, Floats]]:
    """Return the tagger's triplets, each with its measurements."""
    if not read.words:
        return []
    rows = word_rows(read)
    alone = networks.tails.probabilities(rows)
    tails = sorted({t for share in THRESHOLDS for t in tails_of(alone, share)})
    found = []
    for tail in tails:
        beside = networks.parts.probabilities(beside_rows(read, rows, tail))
        frames = (f for f in frames_beside(read, tail, beside) if not _loses_denial(read, f))
        found += [(frame, beside) for frame in frames]
    n = len(read.words)
    return [
        (
            frame,
            np.array(
                [
                    *(1.0, 0.0, 0.0),
                    (1 - alone[slice(*frame.tail), OUTSIDE]).mean(),
                    (1 - alone[slice(*frame.tail), OUTSIDE]).min(),
                    alone[frame.tail[0], BEGIN],
                    alone[frame.tail[1] : frame.tail[1] + 1, OUTSIDE].sum(),
                    beside[slice(*frame.head), HEAD].mean(),
                    beside[slice(*frame.head), HEAD].min(),
                    beside[list(frame.relation), RELATION].mean(),
                    beside[list(frame.relation), RELATION].min(),
                    frame.tail[1] - frame.tail[0],
                    frame.head[1] - frame.head[0],
                    len(frame.relation),
                    abs(frame.tail[0] - frame.head[1]),
                    n,
                    frame.tail[0] / n,
                    len(found),
                    np.minimum(beside[:, RELATION], 0.5).sum(),
                    alone[:, BEGIN].sum(),
                ]
            ),
        )
        for frame, beside in found
    ]


def _words_of(frame: Frame) -> set[int]:
    return {*range(*frame.head), *frame.relation, *range(*frame.tail)}


def _loses_denial(read: Sentence, frame: Frame) -> bool:
    """Return True if a negation among or next to a triplet's words is not part of it."""
    own = _words_of(frame)
    return any(
        read.words[i].text.lower() in _DENIALS
        for i in range(max(0, min(own) - 1), min(len(read.words), max(own) + 2))
        if i not in own
    )


def _claim(text: str, start: int, number: int, read: Sentence, frame: Frame) -> Claim:
    words = read.words

    def said(a: int, b: int) -> str:
        return " ".join(text[words[a].start : words[b - 1].end].split())

    relation = " ".join(words[i].text for i in frame.relation)
    triplet = (said(*frame.head), relation, said(*frame.tail))
    runs: list[list[int]] = []
    for i in sorted(_words_of(frame)):
        if runs and runs[-1][1] == i:
            runs[-1][1] = i + 1
        else:
            runs.append([i, i + 1])
    parts = tuple((start + words[a].start, start + words[b - 1].end) for a, b in runs)
    return Claim(
        statement(triplet),
        parts[0][0],
        parts[-1][1],
        number,
        triplet,
        parts if len(parts) > 1 else (),
    )


def choose(selection: Selection, found: Sequence[Candidate]) -> list[Claim]:
    """Choose the claims of one sentence, in the order of the text.

    These are the most probable candidates without duplicates, and each clause of the rules that
    they do not cover.
    """
    if not found:
        return []
    shares = selection.shares(np.array([c.features for c in found]))
    taken: list[tuple[Candidate, Counter[str]]] = []
    for i in np.argsort(-shares, kind="stable"):
        if shares[i] < selection.threshold:
            break
        said = tokens(found[i].claim.text)
        if all(token_f1(said, other) <= _ALIKE for _, other in taken):
            taken.append((found[i], said))
    chosen = [c for c, _ in taken]
    told = frozenset().union(*(c.own for c in chosen))
    chosen += [
        c
        for c in found
        if c.by_rules and c not in chosen and len(c.own - told) > _UNTOLD * len(c.own)
    ]
    return sorted((c.claim for c in chosen), key=lambda c: (c.start, c.end))


def tokens(text: str) -> Counter[str]:
    """Count each word with a letter or digit in a statement, in lower case."""
    return Counter(w.text.lower() for w in lettered_spans(text))


def token_f1(a: Counter[str], b: Counter[str]) -> float:
    """Compute twice the shared words over all words of both; 0 if both are empty."""
    return 2 * (a & b).total() / max(1, a.total() + b.total())


def matched(said: Iterable[Counter[str]], known: Sequence[Counter[str]], least: float) -> int:
    """Count pairs of a claim and a known one with a token F1 of at least ``least``.

    Each claim is in at most one pair: the best pair first, ties by position.
    """
    pairs = sorted(
        (-f1, i, j)
        for i, a in enumerate(said)
        for j, b in enumerate(known)
        if (f1 := token_f1(a, b)) >= least
    )
    left: set[int] = set()
    right: set[int] = set()
    for _, i, j in pairs:
        if i not in left and j not in right:
            left.add(i)
            right.add(j)
    return len(left)
