"""Faithfulness of each conversation turn to its earlier sources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from veridical.core.evidence import Evidence
from veridical.core.passage_verdicts import passage_verdicts
from veridical.core.prompt_text import message_text
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import EvidenceItem, Score, Unit
from veridical.core.tool_calls import ToolResult, tool_results
from veridical.errors import NotApplicable
from veridical.scorers.grounding._source_windows import Windowed, windowed
from veridical.scorers.grounding.nli_grounding import grounded_units, read_rows
from veridical.text.refusals import abstains
from veridical.text.sentences import split_sentences
from veridical.text.spans import Span

_MAX_EVIDENCE_CHARACTERS = 500  # in the raw value


@scorer(
    "turns",
    level="sentence",
    version=3,
    source="Veridical: nli_grounding of each turn; after DeepEval's turn faithfulness",
    cost="nli",
    auxiliary=True,
    raw_is="risk",
    raw_key="risk",
    presets={"all"},
)
async def turns(
    record: Record,
    evidence: Evidence,
    *,
    users: bool = False,
    top: Annotated[int, Field(ge=0, le=1000)] = 8,
    nli: str | None = None,
) -> Score:
    """Judge each turn of a conversation by the contexts and tool results before it.

    Turns are the prompt's messages of the role ``assistant`` that have a text, and the response.
    Each is judged as ``nli_grounding`` judges a response, by the contexts and by the earlier tool
    results. Those are messages of the role ``tool``, or ``tool_result`` blocks. A context that is a
    tool's result, or part of one, counts only for turns after that result.

    Args:
        users: count earlier messages of users as a source.
        top: as in ``nli_grounding``.
        nli: NLI model; the run's default if None.

    A turn's risk is the maximum of 1 - P(entailment) over its sentences, without questions. It is
    null, with the reason under ``why``, for a turn that declines to answer (``no_statement``) and
    for one without an earlier source (``no_source``). The risk is the maximum over turns.

    ``raw`` has this ``risk``, the ``mean`` over turns that have one, and the ``turns`` in order. A
    turn has the index of the ``message`` (null: the response), ``risk``, ``why`` and its
    ``sentences``. A sentence has ``start`` and ``end`` in the message's text, ``risk``, ``label``
    and ``evidence``. Evidence has ``start``, ``end`` and ``text`` in the ``context`` or the text of
    the ``message`` with that index. Units are the response's sentences, with evidence in contexts.

    The verdict of a record covers its response only. As the error may be in an earlier turn, this
    score does not affect it.

    Raises:
        NotApplicable: the prompt has no earlier turn and no tool result, or no turn can be judged.
            Or the NLI model does not support its script.
    """
    read = [_read(turn, record, evidence, top) for turn in _turns(record, users)]
    judged_turns = [r.windows for r in read if r.windows is not None]
    if not judged_turns:
        raise NotApplicable("no turn makes a statement after a source")
    pairs = list(dict.fromkeys(pair for windows in judged_turns for pair in windows.pairs()))
    alternatives = [places for w in judged_turns for places in w.alternatives(pairs)] if top else []
    judged = read_rows(pairs, await passage_verdicts(evidence, pairs, nli, alternatives))
    found = [
        grounded_units(r.windows, judged, evidence) if r.windows is not None else [] for r in read
    ]
    risks = [max((u.risk or 0.0 for u in units), default=None) for units in found]
    known = [risk for risk in risks if risk is not None]
    raw = {
        "risk": max(known),
        "mean": sum(known) / len(known),
        "turns": [
            _shown(r, risk, units) for r, risk, units in zip(read, risks, found, strict=True)
        ],
    }
    return Score.of(max(known), raw=raw, units=_units(record, read[-1], found[-1]))


class _Place(NamedTuple):
    """The place of a turn's source: a context or a message."""

    kind: str
    at: int


class _Turn(NamedTuple):
    message: int | None
    text: str
    sources: list[tuple[_Place, str]]


class _Read(NamedTuple):
    """A turn and its judged sentences, or the reason why it is not judged."""

    turn: _Turn
    windows: Windowed | None
    why: str | None


def _turns(record: Record, users: bool) -> list[_Turn]:
    """Return the turns, each with its sources.

    Raises:
        NotApplicable: the prompt has no earlier turn and no tool result.
    """
    prompt = record.prompt
    messages = [] if prompt is None or isinstance(prompt, str) else prompt
    results: dict[int, list[ToolResult]] = {}
    outputs = tool_results(messages)
    for result in outputs:
        results.setdefault(result.message, []).append(result)
    spoken = [i for i, m in enumerate(messages) if m.get("role") == "assistant"]
    spoken = [i for i in spoken if message_text(messages[i].get("content")).strip()]
    if not spoken and not outputs:
        raise NotApplicable("the prompt has no earlier turn and no tool result")
    known: list[tuple[_Place, str]] = []
    of_results: dict[ToolResult, list[tuple[_Place, str]]] = {}
    for i, context in enumerate(record.contexts):
        source = _Place("context", i), context.text
        origin = next((r for r in outputs if context.text and context.text in r.text), None)
        (known if origin is None else of_results.setdefault(origin, [])).append(source)
    turns = []
    for i, message in enumerate(messages):
        text = message_text(message.get("content"))
        if message.get("role") == "assistant" and text.strip():
            turns.append(_Turn(i, text, list(known)))
        for output in results.get(i, ()):
            parts = of_results.get(output, [])
            known += parts
            if "\n".join(text for _, text in parts) != output.text:
                known.append((_Place("message", i), output.text))
        if users and message.get("role") == "user" and i not in results:
            known.append((_Place("message", i), text))
    return [*turns, _Turn(None, record.answer, known)]


def _read(turn: _Turn, record: Record, evidence: Evidence, top: int) -> _Read:
    """Judge a turn as a record of its own, with its sources as contexts."""
    sources = list(dict.fromkeys((p, t) for p, t in turn.sources if t.strip()))
    turn = turn._replace(sources=sources)
    spans = list(record.sentences) if turn.message is None else split_sentences(turn.text)
    spans = [s for s in spans if _states(s)]
    if not spans or abstains(turn.text):
        return _Read(turn, None, "no_statement")
    if not sources:
        return _Read(turn, None, "no_source")
    prompt = record.prompt
    before = prompt if isinstance(prompt, list) else []
    own = Record(
        prompt=before[: turn.message],
        response=turn.text,
        sentences=[(s.start, s.end) for s in spans],
        contexts=[text for _, text in sources],
    )
    return _Read(turn, windowed(own, evidence, "contexts", top), None)


def _states(sentence: Span) -> bool:
    return not sentence.text.rstrip().endswith(("?", "？", "؟")) and any(
        map(str.isalnum, sentence.text)
    )


def _shown(read: _Read, risk: float | None, units: Sequence[Unit]) -> dict[str, Any]:
    return {
        "message": read.turn.message,
        "risk": risk,
        "why": read.why,
        "sentences": [
            {
                "start": u.start,
                "end": u.end,
                "risk": u.risk,
                "label": u.label,
                "evidence": [_place(read, e) for e in u.evidence],
            }
            for u in units
        ],
    }


def _place(read: _Read, item: EvidenceItem) -> dict[str, Any]:
    place, _ = read.turn.sources[item.index]
    return {
        place.kind: place.at,
        "start": item.start,
        "end": item.end,
        "text": item.text[:_MAX_EVIDENCE_CHARACTERS],
    }


def _units(record: Record, read: _Read, units: Sequence[Unit]) -> list[Unit]:
    """Return the response's units with evidence in its contexts.

    Sentences that were not judged have no risk.
    """
    judged = {}
    for unit in units:
        items = []
        for item in unit.evidence:
            place, _ = read.turn.sources[item.index]
            if place.kind == "context":
                items.append(item.model_copy(update={"index": place.at, "context": place.at}))
        judged[unit.start, unit.end] = unit.model_copy(update={"evidence": tuple(items)})
    return [
        judged.get((s.start, s.end)) or Unit.of(s, None, label="no_statement")
        for s in record.sentences
        if s.text.strip()
    ]
