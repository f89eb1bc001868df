"""Functions of one text that read values, structure, languages and what frames a statement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from veridical.core.records import Record
from veridical.core.stated import states_nothing, stating_sentences
from veridical.engine.fields import fields_of
from veridical.engine.visible import VisibleRecord
from veridical.text.aliases import definitions, in_words_of
from veridical.text.answer_part import part_finder
from veridical.text.asked import asked, content_stems
from veridical.text.attribution import attributes_alone, attribution_lead_in, attribution_tail
from veridical.text.citations import without_markers
from veridical.text.copies import is_copy, is_whole
from veridical.text.decoration import undecorated
from veridical.text.framing import frame_lead_in, frame_tail
from veridical.text.headings import is_heading
from veridical.text.identifiers import identifiers
from veridical.text.invisible import visible
from veridical.text.languages import language_of
from veridical.text.readable import readable
from veridical.text.refusals import clauses, stated_part
from veridical.text.same_matter import same_matter
from veridical.text.short_answers import figures_differ, short_match
from veridical.text.small_talk import is_advice, lead_in, small_talk
from veridical.text.statements import is_sentence, to_judge
from veridical.text.structure import answer_units, judged_units, read_structure, source_pieces
from veridical.text.structure.checking import asked_values, check_value
from veridical.text.values.answers import final_answer, same_answer
from veridical.text.values.compare import findings
from veridical.text.values.expressions import plain_math, same_expression
from veridical.text.values.order import turned_round
from veridical.text.values.places import outer_values, placed
from veridical.text.values.read import values_of
from veridical.text.values.sources import source_values
from veridical.text.values.tables import cells_of

_SOURCE = "Ann Lee was born in Rome in 1990 and paid 3.5 million euros, 12 % of 40."
_JSON = '{"name": "Ann Lee", "year": 1990, "paid": [3.5, 12, 40]}'


def _fields(text: str) -> Any:
    units: list[dict[str, Any]] = [
        {
            **{"level": "sentence", "start": u.span.start, "end": u.span.end, "risk": 0.5},
            **{"label": "neutral", "evidence": []},
        }
        for u in answer_units(text)
    ]
    return fields_of(_record(text), {"units": units}, [], "unsupported")


def _record(text: str, **fields: Any) -> Record:
    """A record of an answer, or of the beginning of one that has too many values to be judged."""
    try:
        return Record(response=text, **fields)
    except ValueError:
        return Record(response=text[:10_000], **fields)


def _checked(text: str) -> Any:
    return [check_value(value, text) for value in asked_values(_JSON).values()]


def _asked_of(text: str) -> Any:
    return [check_value(value, _SOURCE) for value in list(asked_values(text).values())[:50]]


def _parts(text: str) -> Any:
    return [part_finder(spec)(text) for spec in ("number", "json:a.b", "regex:(\\d+)")]


VALUE_FUNCTIONS: dict[str, Callable[[str], object]] = {
    "visible": visible,
    "visible record": lambda t: VisibleRecord(_record(t, contexts=[t])).record,
    "frame_lead_in": frame_lead_in,
    "frame_tail": frame_tail,
    "framed": lambda t: frame_lead_in("I hope that " + t),
    "lead_in": lead_in,
    "small_talk": lambda t: (small_talk(t), is_advice(t)),
    "attribution": lambda t: (attribution_lead_in(t), attribution_tail(t), attributes_alone(t)),
    "refusal clauses": lambda t: (clauses("I cannot say. " + t), stated_part("I don't know " + t)),
    "readable": readable,
    "undecorated": undecorated,
    "without_markers": without_markers,
    "is_heading": lambda t: is_heading(t, t, t),
    "identifiers": identifiers,
    "language_of": language_of,
    "definitions": lambda t: in_words_of(_SOURCE, t, definitions(t)),
    "asked": lambda t: (asked(t), content_stems(t)),
    "copies": lambda t: (is_copy(_SOURCE, t), is_copy(t, _SOURCE), is_whole(t, t)),
    "same_matter": lambda t: (same_matter(_SOURCE, t), same_matter(t, _SOURCE)),
    "short answers": lambda t: (short_match("When?", t, "12"), figures_differ("When?", "12", t)),
    "statements": lambda t: (is_sentence(t), to_judge(t, "In 1990."), to_judge("When?", t)),
    "stating_sentences": lambda t: stating_sentences(_record(t, contexts=[_SOURCE])),
    "states_nothing": lambda t: states_nothing(_record(t, prompt=t, contexts=[t])),
    "read_structure": read_structure,
    "answer_units": lambda t: (answer_units(t), judged_units(t)),
    "source_pieces": source_pieces,
    "fields_of": _fields,
    "check_value": _checked,
    "asked_values": _asked_of,
    "answer parts": _parts,
    "final_answer": final_answer,
    "same_answer": lambda t: (same_answer("How many?", t, "12"), same_answer(t, "11", "12")),
    "expressions": lambda t: (plain_math(t), same_expression(t, "1/2"), same_expression(t, t)),
    "turned_round": lambda t: (turned_round(_SOURCE, (t,)), turned_round(t, (_SOURCE,))),
    "placed": lambda t: (placed(t), outer_values(t)),
    "values_of": values_of,
    "source_values": lambda t: source_values((t,)),
    "cells_of": cells_of,
    "findings, statement": lambda t: findings(t, (0, len(t)), "How many?", (_SOURCE,)),
    "findings, source": lambda t: findings(_SOURCE, (0, len(_SOURCE)), t, (t,)),
}
