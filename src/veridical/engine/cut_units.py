"""Statement verdicts: units of a score labelled by fitted thresholds."""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from veridical.core.verdict_cuts import UNCLEAR, WORST_FIRST, Cuts, Verdict, Zone, verdict_of_label

#: Basis of a verdict: statements judged by sources, or agreement with samples and the model.
Judged = Literal["sources", "agreement"]
Json = Mapping[str, Any]

_ZONES: tuple[Zone, ...] = ("good", "unclear", "flagged")
_CONTRADICTION = "contradiction"
_NEUTRAL = ("neutral", "unsupported")
_SUPPORTED = ("entailment", "supported")
_AGREEMENT: Mapping[Zone, str] = {
    "good": "consistent",
    "unclear": UNCLEAR,
    "flagged": "inconsistent",
}


class CutScore(NamedTuple):
    """A score whose units are labelled by its cuts.

    Attributes:
        verdict: verdict on the response.
        labels: labels of the score's units, in order.
    """

    verdict: Verdict
    labels: tuple[str | None, ...]


class Voter(NamedTuple):
    """A score that votes when several make the verdict together."""

    score: Json
    cuts: Cuts


def even_risk(score: Json, unit: Json | None = None) -> float:
    """Return the risk of a score, or of a unit of it, before any ``--prior``."""
    raw = score["raw"]
    if not isinstance(raw, dict) or raw.get("even_risk") is None:
        return float(score["risk"] if unit is None else unit["risk"])
    return float(raw["even_risk"] if unit is None or unit["raw"] is None else unit["raw"])


def cut(score: Json, cuts: Cuts, judged: Judged) -> CutScore:
    """Return the verdict by a score, and labels of its units that agree with it.

    By statements, the worst one decides. By the response, no statement is labelled worse than the
    response; with sources, the riskiest one gets the response's label.
    """
    units = score["units"]
    zones = [_zone_of(score, unit, cuts) for unit in units]
    if cuts.of_units and judged == "sources" and any(zones):
        whole = max((z for z in zones if z is not None), key=_ZONES.index)
    else:
        whole = cuts.zone(even_risk(score), _raw_label(score))
        zones = [None if z is None else min(z, whole, key=_ZONES.index) for z in zones]
        if judged == "sources" and any(zones) and whole not in zones:
            riskiest = max(
                (i for i, z in enumerate(zones) if z is not None),
                key=lambda i: even_risk(score, units[i]),
            )
            zones[riskiest] = whole
    labels: list[str | None] = [
        unit["label"]
        if z is None
        else _label(z, unit["label"], even_risk(score, unit), cuts, judged)
        for unit, z in zip(units, zones, strict=True)
    ]
    _label_words(units, labels, judged)
    found = [v for z, x in zip(zones, labels, strict=True) if z and (v := verdict_of_label(x))]
    if judged == "sources" and found:
        return CutScore(min(found, key=WORST_FIRST.index), tuple(labels))
    label = _label(whole, _raw_label(score), even_risk(score), cuts, judged)
    return CutScore(verdict_of_label(label) or "unclear", tuple(labels))


def voted(score: Json, voters: Sequence[Voter], judged: Judged) -> CutScore:
    """Return the verdict of several scores on the units of their mean.

    Each sentence gets the majority label of the scores that judged it. A score that judged only the
    whole response votes on every sentence.
    """
    found = [(voter.score, cut(*voter, judged)) for voter in voters]
    columns = [_ballots(score["units"], *one) for one in found]
    labels = [_most([column[i] for column in columns], judged) for i in range(len(score["units"]))]
    known = [v for x in labels if (v := verdict_of_label(x)) is not None]
    if judged == "sources" and known:
        return CutScore(min(known, key=WORST_FIRST.index), tuple(labels))
    whole = _most([_LABELS[one.verdict] for _, one in found], judged) or UNCLEAR
    return CutScore(verdict_of_label(whole) or "unclear", tuple(_milder(x, whole) for x in labels))


def _zone_of(score: Json, unit: Json, cuts: Cuts) -> Zone | None:
    """Return the zone of a statement; None for single words, and if it was not judged."""
    if unit["risk"] is None or unit["level"] in ("span", "token"):
        return None
    return cuts.zone(even_risk(score, unit), unit["label"])


def _raw_label(score: Json) -> str | None:
    raw = score["raw"]
    label = raw.get("label") if isinstance(raw, dict) else None
    return label if isinstance(label, str) else None


def _label(zone: Zone, old: str | None, risk: float, cuts: Cuts, judged: Judged) -> str:
    if judged == "agreement":
        return _AGREEMENT[zone]
    if zone == "unclear":
        return UNCLEAR
    if zone == "good":
        return old if old in _SUPPORTED else "entailment"
    if old == _CONTRADICTION and risk >= cuts.contradicted:
        return old
    return old if old in _NEUTRAL else "neutral"


def _label_words(units: Sequence[Json], labels: list[str | None], judged: Judged) -> None:
    """Label wrong words no worse than the sentence that contains them."""
    around: tuple[int, str | None] = (0, None)  # the end of the last sentence, and its label
    for i in sorted(range(len(units)), key=lambda i: (units[i]["start"], -units[i]["end"])):
        unit = units[i]
        if unit["level"] in ("sentence", "claim"):
            around = unit["end"], labels[i]
        elif unit["level"] == "span" and unit["risk"] is not None and unit["end"] <= around[0]:
            good = verdict_of_label(around[1]) in ("unclear", "supported", "consistent")
            if good or judged == "agreement":
                labels[i] = around[1] or labels[i]


def _ballots(sentences: Sequence[Json], score: Json, found: CutScore) -> list[str | None]:
    """Return a score's labels of the sentences, which are in order."""
    units = [
        (unit, label)
        for unit, label in zip(score["units"], found.labels, strict=True)
        if unit["risk"] is not None and unit["level"] not in ("span", "token")
    ]
    if not units:
        return [_LABELS[found.verdict]] * len(sentences)
    ends = [sentence["end"] for sentence in sentences]
    ballots: list[str | None] = [None] * len(sentences)
    for unit, label in units:
        for i in range(bisect.bisect_right(ends, unit["start"]), len(sentences)):
            if sentences[i]["start"] >= unit["end"]:
                break
            ballots[i] = _worse(ballots[i], label)
    return ballots


def _worse(a: str | None, b: str | None) -> str | None:
    return b if _milder(a, b) == a else a


def _milder(a: str | None, b: str | None) -> str | None:
    """Return the milder label; an unknown label is the mildest."""
    ranks = [
        len(WORST_FIRST) if (v := verdict_of_label(x)) is None else WORST_FIRST.index(v)
        for x in (a, b)
    ]
    return a if ranks[0] >= ranks[1] else b


_LABELS: Mapping[Verdict, str] = {
    "contradicted": _CONTRADICTION,
    "unsupported": "neutral",
    "inconsistent": "inconsistent",
    "unclear": UNCLEAR,
    "supported": "entailment",
    "consistent": "consistent",
    "unchecked": UNCLEAR,
}


def _most(ballots: Sequence[str | None], judged: Judged) -> str | None:
    """Return the majority label; unclear unless at least half of the votes are favourable."""
    cast = [verdict_of_label(b) for b in ballots if b is not None]
    if not cast:
        return None
    flagged = [v for v in cast if v in ("contradicted", "unsupported", "inconsistent")]
    if 2 * len(flagged) > len(cast):
        if judged == "agreement":
            return "inconsistent"
        return _CONTRADICTION if 2 * flagged.count("contradicted") > len(flagged) else "neutral"
    if 2 * (len(flagged) + cast.count("unclear")) >= len(cast):
        return UNCLEAR
    return _AGREEMENT["good"] if judged == "agreement" else "entailment"
