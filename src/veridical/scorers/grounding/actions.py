"""Claimed actions compared with the tool calls in the conversation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from veridical.core.evidence import Evidence
from veridical.core.records import Record, Source
from veridical.core.registry import scorer
from veridical.core.scores import EvidenceItem, Score, Unit
from veridical.core.tool_calls import ToolCall, tool_calls
from veridical.errors import NotApplicable
from veridical.text.actions import TOOL_WORDS, Action, claimed_actions
from veridical.text.spans import Span

_RISKS = {"done": 0.0, "unconfirmed": 0.5, "similar": 0.5, "failed": 1.0, "not_called": 1.0}
_NONE = "no_action"
#: Words of generic tools, whose arguments determine the action.
_GENERIC_WORDS = """
    run execute exec sql query bash shell http request api rest python code browser computer
    invoke call tool command terminal cmd graphql script function action
"""
_GENERIC = frozenset(_GENERIC_WORDS.split())
#: Synonyms, one group per line; the first word represents the group.
_SAME = """
    email mail message gmail inbox mailbox emails
    meeting event calendar appointment invite
    ticket issue case
    order purchase
    flight booking reservation
    file document doc
    account user profile
    payment money transaction
    folder directory dir
    notification alert
    tweet post
    test tests pytest
    web internet google
"""
_GROUP = {word: line.split()[0] for line in _SAME.splitlines() for word in line.split()}
_EVERY_WORD = frozenset(word for words in TOOL_WORDS.values() for word in words)
_READ_WORDS = """
    get list read search find fetch lookup view show check describe
"""
_READS = frozenset(_READ_WORDS.split())
_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z\d])(?=[A-Z])")
_MAX_ARGUMENT_CHARACTERS = 20_000
_MAX_SHOWN_CHARACTERS = 300  # of arguments and results in the raw value


@scorer(
    "actions",
    level="sentence",
    source="Veridical: claimed actions looked up among the conversation's tool calls",
    auxiliary=True,
    raw_is="risk",
    raw_key="risk",
    presets={"all"},
)
async def actions(record: Record, evidence: Evidence) -> Score:
    """Compare the answer's claimed actions with the tool calls in the conversation.

    Claims are found by rules on English words (see :mod:`veridical.text.actions`): "I created the
    ticket", "Your flight has been booked". Calls and results are those of the prompt's messages:
    ``tool_calls`` of assistants and messages of the role ``tool``, or Anthropic's ``tool_use`` and
    ``tool_result`` blocks. No model is called.

    A call matches an action if it has a word for that kind of action and a word for the action's
    object. The first may be in the tool's name or, for generic tools (``bash``, ``execute_sql``),
    in the arguments; the second in either. Labels, and the risk of an action:

    - ``done``, 0: a call matches, and its result reports no error;
    - ``failed``, 1: every matching call returned an error. Such a result is marked as one, begins
      like one, or is JSON with ``error``, ``success: false`` or a status of 400 to 599;
    - ``unconfirmed``, 0.5: a call matches, and its result is not in the conversation;
    - ``similar``, 0.5: a call matches the kind or the object, not both, and no other action matches
      it;
    - ``not_called``, 1: none of these.

    The response's risk is the maximum. A unit is a sentence or an action (level ``span``). A
    sentence has the risk of its worst claimed action (null, ``no_action``, without any). Evidence
    is the call's result if the contexts contain it. ``raw`` has ``risk`` and the numbers of actions
    ``claimed``, of each label, and of ``calls``. Under ``actions`` it has each one's ``text``,
    ``kind``, ``label`` and ``call``: index of its ``message``, ``name``, ``arguments``, ``result``.

    The scorer does not check that the answer reports the result of a call correctly; use the
    scorers that compare with contexts. It does not affect the verdict.

    Raises:
        NotApplicable: the response is blank; the prompt is not a list of messages; or the rules
            find no claimed action.
    """
    record.need_response()
    if record.prompt is None or isinstance(record.prompt, str):
        raise NotApplicable("the prompt is not a list of chat messages, so there are no tool calls")
    claimed = claimed_actions(record.sentences)
    if not claimed:
        raise NotApplicable("the response claims no action known to the rules (English only)")
    calls = [_Call.of(call) for call in tool_calls(record.prompt)]
    outcomes = _outcomes(claimed, calls)
    return _score(record, outcomes, len(calls))


class _Call(NamedTuple):
    """A call and its words.

    Attributes:
        said: words for its kind: those of the tool's name and, for a generic tool, of its
            arguments.
        words: words of name and arguments.
        other: True if the name shows another kind, or reading.
    """

    call: ToolCall
    said: frozenset[str]
    words: frozenset[str]
    other: bool

    @classmethod
    def of(cls, call: ToolCall) -> _Call:
        name, arguments = (
            _words(call.name[:_MAX_SHOWN_CHARACTERS]),
            _words(call.arguments[:_MAX_ARGUMENT_CHARACTERS]),
        )
        said = name | arguments if name & _GENERIC else name
        return cls(call, said, name | arguments, not name.isdisjoint(_EVERY_WORD | _READS))


class _RequiredWords(NamedTuple):
    """Words required in a matching call: for its kind and for its object."""

    verbs: frozenset[str]
    about: frozenset[str]

    @classmethod
    def of(cls, action: Action) -> _RequiredWords:
        return cls(
            frozenset(TOOL_WORDS[action.kind]) | {_plain(action.verb)},
            _words(" ".join(action.objects)),
        )

    def grade(self, call: _Call) -> int:
        """Return 2 if the call matches the action's kind and object, 1 for either, else 0."""
        thing = not (self.about and self.about.isdisjoint(call.words))
        if not self.verbs.isdisjoint(call.said):
            return 2 if thing else 1
        return int(bool(self.about) and thing and not call.other)


class _Outcome(NamedTuple):
    action: Action
    label: str
    call: ToolCall | None

    @property
    def risk(self) -> float:
        return _RISKS[self.label]


def _outcomes(claimed: Sequence[Action], calls: Sequence[_Call]) -> list[_Outcome]:
    """Determine the outcome of each action.

    A call that matches one action fully is not reused for an action that it is only similar to.
    """
    distinct = {(a.kind, a.verb, a.objects): a for a in claimed}
    wanted = {key: _RequiredWords.of(a) for key, a in distinct.items()}
    matches = {key: [w.grade(c) for c in calls] for key, w in wanted.items()}
    taken = {i for row in matches.values() for i, grade in enumerate(row) if grade == 2}
    found = {key: _outcome(row, calls, taken) for key, row in matches.items()}
    return [_Outcome(a, *found[a.kind, a.verb, a.objects]) for a in claimed]


def _outcome(
    grades: Sequence[int], calls: Sequence[_Call], taken: set[int]
) -> tuple[str, ToolCall | None]:
    own = [c.call for c, grade in zip(calls, grades, strict=True) if grade == 2]
    for label, failed in (("done", False), ("unconfirmed", None), ("failed", True)):
        for call in reversed(own):
            if call.failed is failed:
                return label, call
    near = [c.call for i, c in enumerate(calls) if grades[i] == 1 and i not in taken]
    for call in reversed(near):
        if not call.failed:
            return "similar", call
    return ("failed", near[-1]) if near else ("not_called", None)


def _words(text: str) -> frozenset[str]:
    """Return the normalised words of a name or of arguments."""
    return frozenset(_plain(w.lower()) for w in _WORD.findall(_CAMEL.sub(" ", text)))


def _plain(word: str) -> str:
    singular = word[:-1] if len(word) > 3 and word.endswith("s") else word
    return _GROUP.get(word) or _GROUP.get(singular) or singular


def _score(record: Record, outcomes: Sequence[_Outcome], calls: int) -> Score:
    by_sentence: dict[int, list[_Outcome]] = {}
    for outcome in outcomes:
        by_sentence.setdefault(outcome.action.sentence, []).append(outcome)
    contexts = [Source("context", i, c.text) for i, c in enumerate(record.contexts) if c.text]
    units = []
    for i, sentence in enumerate(record.sentences):
        worst = max(by_sentence.get(i, ()), key=lambda o: o.risk, default=None)
        if worst is None:
            units.append(Unit.of(sentence, None, label=_NONE))
            continue
        items = _evidence(worst, contexts)
        units.append(
            Unit.of(sentence, worst.risk, raw=worst.risk, label=worst.label, evidence=items)
        )
        for outcome in by_sentence[i]:
            action = outcome.action
            span = Span(action.start, action.end, record.response[action.start : action.end])
            units.append(
                Unit.of(
                    span,
                    outcome.risk,
                    raw=outcome.risk,
                    level="span",
                    label=outcome.label,
                    evidence=_evidence(outcome, contexts),
                )
            )
    risk = max(o.risk for o in outcomes)
    counts = Counter(o.label for o in outcomes)
    raw = {
        "risk": risk,
        "claimed": len(outcomes),
        **{label: counts[label] for label in _RISKS},
        "calls": calls,
        "actions": [_shown(o, record.response) for o in outcomes],
    }
    return Score.of(risk, raw=raw, units=units)


def _evidence(outcome: _Outcome, contexts: Sequence[Source]) -> list[EvidenceItem]:
    """Return the first context that is the call's result or a part of it."""
    result = (outcome.call.result if outcome.call is not None else None) or ""
    source = next((c for c in contexts if c.text in result), None) if result else None
    return (
        [EvidenceItem.at(source, 0, min(len(source.text), _MAX_SHOWN_CHARACTERS))] if source else []
    )


def _shown(outcome: _Outcome, response: str) -> dict[str, Any]:
    action, call = outcome.action, outcome.call
    return {
        "text": response[action.start : action.end],
        "kind": action.kind,
        "label": outcome.label,
        "call": call
        and {
            "message": call.message,
            "name": call.name[:_MAX_SHOWN_CHARACTERS],
            "arguments": call.arguments[:_MAX_SHOWN_CHARACTERS],
            "result": call.result and call.result[:_MAX_SHOWN_CHARACTERS],
        },
    }
