"""Unsupported sentences of a response, and their supported parts."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from veridical.core.identity import Identity
from veridical.text.sentences import split_sentences
from veridical.text.spans import Span

if TYPE_CHECKING:
    from veridical.core.records import Record
    from veridical.core.scores import Result, Score, Unit

#: Scorers in order of preference; other scorers follow in the order of the run.
FIRST = ("claims", "factscore", "factool", "nli_grounding", "selfcheck_nli", "support")
#: Last in order: its risks are quantiles, half of which exceed one half.
_LAST = "ensemble"
#: Risk at or above which a unit without a verdict is unsupported.
FROM = 0.5
_VERDICTS = {
    "entailment": False,
    "supported": False,
    "neutral": True,
    "contradiction": True,
    "unsupported": True,
    "unclear": False,
}


class Flaw(NamedTuple):
    """A sentence with unsupported statements.

    Attributes:
        sentence: its offsets and text.
        unsupported: the unsupported statements.
        supported: its supported statements in words of the response, in order. It is empty if
            no statement is supported, or if a statement is in other words.
    """

    sentence: Span
    unsupported: tuple[str, ...]
    supported: tuple[str, ...]


def scorer_of(result: Result) -> str | None:
    """Return the key of the scorer that determines unsupported text; None if no score has claims or
    sentences.

    A score that found no claim, because the response declines to answer, counts.
    """
    able = [k for k, s in result.scores.items() if s.status == "scored" and _tells(k, s)]
    return min(able, key=_turn, default=None)


def _turn(key: str) -> int:
    name = Identity.read(key).name
    return FIRST.index(name) if name in FIRST else len(FIRST) + (name == _LAST)


def _tells(key: str, score: Score) -> bool:
    return Identity.read(key).name == "claims" or any(_counts(u) for u in score.units)


def _counts(unit: Unit) -> bool:
    return unit.level in ("claim", "sentence")


def is_unsupported(unit: Unit) -> bool:
    """Return True if a unit is unsupported, by the verdict on a claim or else by risk."""
    if unit.level == "claim" and unit.label in _VERDICTS:
        return _VERDICTS[unit.label]
    return unit.risk is not None and unit.risk >= FROM


def count(score: Score) -> int | None:
    """Count the unsupported claims or sentences; None if not scored."""
    if score.status != "scored":
        return None
    return sum(_counts(u) and is_unsupported(u) for u in score.units)


def flaws(record: Record, score: Score) -> list[Flaw]:
    """Return the sentences of ``record`` with statements unsupported by ``score``, in order. A
    statement that spans several sentences counts for all of them."""
    flawed = []
    for sentence, here in _by_sentence(record, score):
        bad = tuple(s.text for s in here if s.unsupported)
        if not bad:
            continue
        good = tuple(s.text for s in here if not s.unsupported)
        flawed.append(Flaw(sentence, bad, good if _verbatim(here, sentence) else ()))
    return flawed


def all_flawed(record: Record, score: Score | None) -> list[Flaw]:
    """Return :func:`flaws` as if nothing were supported: every sentence with all of its statements.
    Without a score, each sentence is its own statement."""
    if score is None:
        return [Flaw(s, (s.text,), ()) for s in record.sentences]
    sentences = _by_sentence(record, score)
    return [Flaw(sentence, tuple(s.text for s in here), ()) for sentence, here in sentences if here]


def fewest_flaws(record: Record, score: Score | None) -> list[Flaw]:
    """Return the flaws whose repair keeps most of a response.

    They are the shortest statement of every sentence that can be repaired in its own words.
    Without such a sentence, it is the shortest sentence.
    """
    fewest = []
    for sentence, here in () if score is None else _by_sentence(record, score):
        if len(here) > 1 and _verbatim(here, sentence):
            short = min(here, key=lambda s: len(s.text))
            fewest.append(
                Flaw(sentence, (short.text,), tuple(s.text for s in here if s is not short))
            )
    flawed = all_flawed(record, score)
    return fewest or ([min(flawed, key=lambda f: len(f.sentence.text))] if flawed else [])


def _by_sentence(record: Record, score: Score) -> Iterator[tuple[Span, list[_Statement]]]:
    """Yield the sentences of ``record``, each with the statements that overlap it."""
    starts = [s.start for s in record.sentences]
    ends = [s.end for s in record.sentences]
    touching: list[list[_Statement]] = [[] for _ in record.sentences]
    for statement in _statements(record.response, score):
        touched = {
            i
            for start, end in statement.parts
            for i in range(bisect_right(ends, start), bisect_left(starts, end))
        }
        for i in touched:
            touching[i].append(statement)
    yield from zip(record.sentences, touching, strict=True)


def _verbatim(here: Sequence[_Statement], sentence: Span) -> bool:
    """Return True if a sentence's statements are in its own words and within it."""
    return all(s.verbatim and _within(s.parts, sentence) for s in here)


class _Statement(NamedTuple):
    text: str
    parts: tuple[tuple[int, int], ...]
    unsupported: bool
    verbatim: bool


def _statements(response: str, score: Score) -> list[_Statement]:
    claims = _claims(score)
    statements = []
    for i, unit in enumerate(score.units):
        if not _counts(unit):
            continue
        parts = _parts(claims[i], len(response)) if claims else ()
        parts = parts or ((unit.start, unit.end),)
        text = str(claims[i].get("text") or unit.text) if claims else unit.text
        verbatim = unit.level == "claim" and text == " ".join(response[a:b] for a, b in parts)
        statements.append(_Statement(text, parts, is_unsupported(unit), verbatim))
    return statements


def _claims(score: Score) -> Sequence[Mapping[str, Any]]:
    """Return the claims in ``raw``, one per unit; an empty list if they are missing."""
    raw = score.raw
    claims = raw.get("claims") if isinstance(raw, dict) else None
    if not isinstance(claims, list) or len(claims) != len(score.units):
        return ()
    return claims if all(isinstance(t, dict) for t in claims) else ()


def _parts(claim: Mapping[str, Any], end: int) -> tuple[tuple[int, int], ...]:
    places = claim.get("parts")
    places = places if isinstance(places, (list, tuple)) else ()
    parts = tuple((p[0], p[1]) for p in places if isinstance(p, (list, tuple)) and len(p) == 2)
    fits = all(type(a) is type(b) is int and 0 <= a <= b <= end for a, b in parts)
    return parts if fits else ()


def _within(parts: Sequence[tuple[int, int]], sentence: Span) -> bool:
    return all(sentence.start <= a and b <= sentence.end for a, b in parts)


def as_sentences(statements: Sequence[str], ending: str) -> str:
    """Turn statements into sentences: each begins with a capital and ends with a stop.

    Args:
        ending: the original sentence, whose full stop is used.
    """
    stop = ending.rstrip()[-1:]
    stop = stop if stop in _STOPS else "."
    sentences = []
    for statement in statements:
        text = statement.strip().rstrip(",;:")
        if not text:
            continue
        ends = text[-1] in _STOPS or len(split_sentences(f"{text} Next.")) > 1
        sentences.append(text[0].upper() + text[1:] + ("" if ends else stop))
    return " ".join(sentences)


_STOPS = frozenset(".!?…。！？")
