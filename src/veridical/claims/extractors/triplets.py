"""Triplets of each clause, offline and without a parser."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from veridical.claims.claim import Claim, Extraction
from veridical.claims.extractors import clauses
from veridical.claims.extractors.clause_rules import LONGEST, Rules
from veridical.claims.extractors.clause_words import read
from veridical.claims.triplets import statement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.core.evidence import Evidence
    from veridical.core.records import Record

Place = tuple[int, int]

#: A verb with its auxiliaries, its participle, and the preposition that follows at once.
_VERB_GROUP = re.compile(
    r"(?:[BHM][RnHb]*(?:[EeG]|(?<=[Mn])x|(?<=MR)x)?|d[Rn]*x|[VEeG])(?:(?<=[VEeGx])(?<!nx)R*[Io])?"
)
#: A date at the end: "in May 1990", "on 5 May 1990", "from 1990 to 1995".
_DATE = re.compile(r"(?P<link>I)(?:0?N?,?0(?:,?0)?(?:o0)?)$")
_PARTICIPLE = re.compile(r"(?P<subject>[Pp]|[aDNx0gI]{1,12}?)(?=G)")
_BORN = re.compile(r"(?P<head>[^()]+) \(born (?P<tail>[^();]*\d[^();]*)\)")


async def extract(record: Record, evidence: Evidence) -> Extraction:
    """Convert clauses to triplets where subject and verb can be identified.

    The clauses are those of :mod:`~veridical.claims.extractors.clauses`; a triplet is the subject,
    the verb with its preposition, and the rest. A date at the end is a separate triplet: "(Ann,
    moved to, Oslo)" and "(Ann, moved to Oslo in, 1990)". ``text`` is the triplet's statement, and
    ``parts`` are the places of its elements. Any other clause stays a claim in words.

    Raises:
        NotApplicable: the response is empty.

    Source: the form of Hu et al. 2024 (RefChecker), section 4.1; the rules are our own.
    """
    extraction = await clauses.extract(record, evidence)
    claims: list[Claim] = []
    for clause in extraction.claims:
        frames = frames_of(clause.text)
        claims += [_triplet(clause, f, record.response) for f in frames] or [clause]
    return replace(extraction, claims=tuple(claims))


class TripletFrame(NamedTuple):
    """Places of a triplet's elements in a clause."""

    head: Place
    relation: Place
    tail: Place


def frames_of(clause: str) -> list[TripletFrame]:
    """Return the triplets of a clause: none, one, or two if it has a date.

    >>> text = "Ann Lee moved to Oslo in 1990."
    >>> [[text[a:b] for a, b in frame] for frame in frames_of(text)]
    [['Ann Lee', 'moved to', 'Oslo'], ['Ann Lee', 'moved to Oslo in', '1990']]
    """
    if len(clause) > LONGEST:
        return []
    born = _BORN.fullmatch(clause)
    if born:
        relation = born.end("head") + 2, born.start("tail") - 1
        return [TripletFrame(born.span("head"), relation, born.span("tail"))]
    reading = read(clause)
    tags, spans = reading.tags, reading.spans
    end = len(tags.rstrip("."))
    if "!" in tags or "q" in tags or ";" in tags:
        return []
    main = Rules(reading).main(reading.begin, end)
    participle = None if main else _PARTICIPLE.match(tags)
    if main and main.between[0] == main.between[1] and main.subject[0] == reading.begin:
        subject, verb = main.subject, main.verb
    elif participle:
        subject, verb = participle.span("subject"), participle.end("subject")
    else:
        return []
    group = _VERB_GROUP.match(tags, verb, end)
    if group is None or group.end() >= end or tags[group.end()] in ",:-":
        return []
    head = (spans[subject[0]][0], spans[subject[1] - 1][1])
    begin = spans[subject[1]][0]
    close = reading.brackets.get(end, spans[end - 1])[1]
    tail = spans[group.end()][0]
    date = _DATE.search(tags, group.end() + 1, end)
    frames = [TripletFrame(head, (begin, spans[group.end() - 1][1]), (tail, close))]
    if date and end not in reading.brackets:
        link = date.start()
        before = reading.brackets.get(link, spans[link - 1])[1]
        frames = [
            frames[0]._replace(tail=(tail, before)),
            TripletFrame(head, (begin, spans[link][1]), (spans[link + 1][0], close)),
        ]
    return frames


def _triplet(claim: Claim, frame: TripletFrame, response: str) -> Claim:
    head, relation, tail = (claim.text[a:b] for a, b in frame)
    parts = [p for place in frame for p in _in_response(claim, place)]
    joined = _joined(parts, response)
    inside = [p for p in joined if p[1] > claim.start] or joined  # without a carried subject
    return Claim(
        statement((head, relation, tail)),
        inside[0][0],
        inside[-1][1],
        claim.sentence,
        (head, relation, tail),
        tuple(joined) if len(joined) > 1 else (),
    )


def _in_response(claim: Claim, place: Place) -> list[Place]:
    """Return the places in the response of a stretch of the claim's text."""
    places = []
    at = 0  # offset of the part in the text
    for start, end in claim.parts or ((claim.start, claim.end),):
        first, last = max(place[0], at), min(place[1], at + end - start)
        if first < last:
            places.append((start + first - at, start + last - at))
        at += end - start + 1
    return places


def _joined(parts: Sequence[Place], response: str) -> list[Place]:
    """Merge parts with only white space between them."""
    runs: list[Place] = []
    for start, end in parts:
        if runs and runs[-1][1] <= start and not response[runs[-1][1] : start].strip():
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    return runs
