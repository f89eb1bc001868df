"""Training of a tagger on an LLM's triplets, and its evaluation."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from veridical.arrays import Floats
from veridical.claims.claim import Claim, Triplet
from veridical.claims.engine_work import run_work
from veridical.claims.extractors import clauses
from veridical.claims.triplets import statement
from veridical.engine.engine import Engine
from veridical.errors import ModelError, NotApplicable, UsageError
from veridical.stats.resampling import Resampler, interval
from veridical.text.refusals import abstains
from veridical_lab.tagger.align import Tagged, align
from veridical_lab.tagger.candidates import (
    Candidate,
    candidates,
    choose,
    matched,
    token_f1,
    tokens,
)
from veridical_lab.tagger.extractor import claims_of
from veridical_lab.tagger.fit import fit_networks, fit_selection, project
from veridical_lab.tagger.model import Networks, Selection, Tagger
from veridical_lab.tagger.reading import Read, read_response
from veridical_lab.training.figures import FigureRow

if TYPE_CHECKING:
    from veridical.core.evidence import Evidence
    from veridical.core.records import Record

#: Token F1 of two statements from which one counts as the other.
SAME = 0.6
METRICS = ("f1", "precision", "recall")
FEWEST = 10  #: prompts of a part, and triplets aligned of each half of those to train on
_THRESHOLDS = tuple(round(0.2 + 0.05 * i, 2) for i in range(9))
ABSTAINED = "the response declines to answer"


class Example(NamedTuple):
    """A response with an LLM's triplets. Those of one ``group`` (a prompt) stay together."""

    record: Record
    triplets: tuple[Triplet, ...]
    group: str


class Prepared(NamedTuple):
    """Prepared example.

    Attributes:
        known: words of each of the LLM's statements.
        tagged: the triplets aligned with the response's words.
        clauses: claims of the rules ``clauses``.
    """

    example: Example
    read: Read
    known: list[Counter[str]]
    tagged: list[Tagged]
    clauses: tuple[Claim, ...]


@dataclass(frozen=True)
class Gathered:
    """Prepared data.

    Attributes:
        aligned, triplets: number of triplets aligned with the responses' words, of all.
        unaligned: reason -> number of other triplets.
        missing: reason -> number of omitted responses.
        encoder, revision: of the token encoder.
    """

    examples: list[Prepared]
    aligned: int
    triplets: int
    unaligned: Mapping[str, int]
    missing: Mapping[str, int]
    encoder: str
    revision: str


def gather(
    examples: Sequence[Example],
    *,
    token_encoder: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> Gathered:
    """Word vectors, rules' claims and aligned triplets of each example, in order.

    Raises:
        UsageError: there is no such encoder.
        ModelError: it cannot be loaded, gives no token vectors, or could read no response.
    """
    found: dict[int, Prepared] = {}
    missing: Counter[str] = Counter()
    unaligned: Counter[str] = Counter()
    names: list[tuple[str, str]] = []
    records = []
    for e in examples:
        if abstains(e.record.response):
            missing[ABSTAINED] += 1
        else:
            records.append(e)

    async def work(record: Record, evidence: Evidence) -> None:
        names[:] = [await evidence.token_encoder_identity()]
        example = records[record.row]
        try:
            read = await read_response(example.record, evidence)
            cut = (await clauses.extract(example.record, evidence)).claims
        except (ModelError, NotApplicable) as e:
            missing[str(e)] += 1
            return
        tagged, why = align(example.record, example.triplets)
        unaligned.update(why)
        known = [tokens(statement(t)) for t in example.triplets]
        found[record.row] = Prepared(example, read, known, tagged, cut)
        if progress is not None:
            progress(len(found))

    with Engine(token_encoder=token_encoder, store=None, processes=0) as engine:
        run_work(engine, [e.record for e in records], work, {"tokens"}, {})
    if not found:
        raise ModelError(f"no response could be read: {'; '.join(missing) or 'no examples'}")
    ordered = [found[row] for row in sorted(found)]
    return Gathered(
        ordered,
        sum(len(p.tagged) for p in ordered),
        sum(len(p.known) for p in ordered),
        dict(unaligned.most_common()),
        dict(missing.most_common()),
        *names[0],
    )


@dataclass(frozen=True, eq=False)
class Parts:
    """Examples to train on, in two halves, and those held out; no prompt is in two of them."""

    halves: tuple[list[Prepared], list[Prepared]]
    held: list[Prepared]

    @property
    def training(self) -> list[Prepared]:
        """Both halves."""
        return [*self.halves[0], *self.halves[1]]


def parts_of(data: Gathered, held_out: float, seed: int) -> Parts:
    """Split the examples by prompt, with a share of ``held_out`` prompts held out.

    Raises:
        UsageError: a part has too few prompts, or too few aligned triplets.
    """
    names = list(dict.fromkeys(p.example.group for p in data.examples))
    order = np.random.default_rng(seed).permutation(len(names))
    held = round(held_out * len(names))
    kind = {names[i]: 2 if at < held else (at - held) % 2 for at, i in enumerate(order)}
    split: list[list[Prepared]] = [[], [], []]
    for p in data.examples:
        split[kind[p.example.group]].append(p)
    for what, part in zip(("first half", "second half", "part held out"), split, strict=True):
        prompts = len({p.example.group for p in part})
        aligned = sum(len(p.tagged) for p in part)
        if prompts < FEWEST or aligned < FEWEST:
            raise UsageError(
                f"too little to train on: the {what} has {prompts} prompts and {aligned} "
                f"triplets aligned with the responses' words; {FEWEST} of each are required"
            )
    return Parts((split[0], split[1]), split[2])


def train(
    parts: Parts, data: Gathered, *, seed: int = 0, notes: Mapping[str, Any] | None = None
) -> Tagger:
    """Fit the tagger.

    Networks fitted on each half of the training prompts propose candidates for the other half. On
    these the selection is fitted, and its threshold chosen by F1. Then the networks are fitted
    again on both halves.

    Raises:
        UsageError: a half lacks a class of words.
    """
    mean, axes = project([s for p in parts.training for s in p.read.sentences.values()])
    proposed: list[tuple[Prepared, list[list[Candidate]]]] = []
    for part, other in (parts.halves, parts.halves[::-1]):
        networks = _networks(part, mean, axes, seed)
        proposed += [(p, _candidates(networks, p)) for p in other]
    every = [(p, c) for p, sentences in proposed for found in sentences for c in found]
    hits = np.array([_is_known(c.claim, p) for p, c in every])
    selection = fit_selection(np.array([c.features for _, c in every]), hits)
    return Tagger(
        _networks(parts.training, mean, axes, seed),
        max(
            (replace(selection, threshold=t) for t in _THRESHOLDS),
            key=lambda s: _f1(s, proposed),
        ),
        data.encoder,
        data.revision,
        {
            "prompts": len({p.example.group for p in parts.training}),
            "responses": len(parts.training),
            "triplets": sum(len(p.tagged) for p in parts.training),
            "hash": _hash(parts.training),
            "seed": seed,
            **(notes or {}),
        },
    )


def _candidates(networks: Networks, p: Prepared) -> list[list[Candidate]]:
    """Return the candidates of each sentence."""
    found = []
    for number, sentence in p.read.sentences.items():
        text, start = p.read.texts[number]
        found.append(candidates(networks, text, start, number, sentence, p.read.rules[number]))
    return found


def _is_known(claim: Claim, p: Prepared) -> bool:
    said = tokens(claim.text)
    return any(token_f1(said, known) >= SAME for known in p.known)


def _f1(selection: Selection, proposed: Sequence[tuple[Prepared, list[list[Candidate]]]]) -> float:
    hits = found = known = 0
    for p, sentences in proposed:
        claims = [c for some in sentences for c in choose(selection, some)]
        hits += matched([tokens(c.text) for c in claims], p.known, SAME)
        found += len(claims)
        known += len(p.known)
    return 2 * hits / max(1, found + known)


def _networks(part: Sequence[Prepared], mean: Floats, axes: Floats, seed: int) -> Networks:
    tagged = []
    for p in part:
        by_sentence: dict[int, list[Tagged]] = {}
        for one in p.tagged:
            by_sentence.setdefault(one.sentence, []).append(one)
        for number, some in by_sentence.items():
            sentence = p.read.sentences.get(number)
            if sentence is not None:
                tagged.append((sentence.project(mean, axes), some))
    return Networks(mean, axes, *fit_networks(tagged, seed))


def _hash(part: Sequence[Prepared]) -> str:
    """Return 16 hexadecimal digits of a hash of the responses and their triplets."""
    h = hashlib.blake2b(digest_size=8)
    for p in part:
        h.update(repr((p.example.record.response, p.example.triplets)).encode())
    return h.hexdigest()


def measure(
    tagger: Tagger, held: Sequence[Prepared], *, bootstrap: int, seed: int
) -> list[FigureRow]:
    """Compute micro-averaged precision, recall and F1 of statements against the LLM's.

    Rows are the trained extractor, the rules, and the differences. A claim is right if its token F1
    with one of the LLM's is at least :data:`SAME`, one to one. The bootstrap resamples whole
    prompts.
    """
    names = {name: i for i, name in enumerate(dict.fromkeys(p.example.group for p in held))}
    resampler = Resampler(
        np.array([names[p.example.group] for p in held], np.int64), bootstrap, seed
    )
    found: dict[str, Sequence[Sequence[Claim]]] = {
        "trained": [claims_of(tagger, p.read) for p in held],
        "triplets": [[c for some in p.read.rules for c in some] for p in held],
        "clauses": [p.clauses for p in held],
    }
    values: dict[str, tuple[Floats, Floats]] = {}
    for name, claims in found.items():
        counts = np.array([_counts(c, p) for c, p in zip(claims, held, strict=True)], np.float64)
        draws = [_figures(weights @ counts) for weights in resampler.chunks()]
        replicates = np.concatenate(draws) if draws else np.zeros((0, len(METRICS)))
        values[name] = _figures(counts.sum(axis=0)[None])[0], replicates
    for name in ("triplets", "clauses"):
        values[f"trained - {name}"] = (
            values["trained"][0] - values[name][0],
            values["trained"][1] - values[name][1],
        )
    rows = []
    for name, (whole, replicates) in values.items():
        for i, metric in enumerate(METRICS):
            low, high = interval(replicates[:, i])
            rows.append(FigureRow("held out", name, metric, float(whole[i]), low, high, len(held)))
    return rows


def _counts(claims: Sequence[Claim], p: Prepared) -> tuple[int, int, int]:
    """Count the matching claims, the claims found, and the LLM's claims."""
    hits = matched([tokens(c.text) for c in claims], p.known, SAME)
    return hits, len(claims), len(p.known)


def _figures(counts: Floats) -> Floats:
    """Convert counts (n, 3) to metrics (n, :data:`METRICS`)."""
    hits, found, known = counts.T
    sums = (found + known) / 2, found, known
    return np.stack([hits / np.maximum(total, 1e-9) for total in sums], axis=1)
