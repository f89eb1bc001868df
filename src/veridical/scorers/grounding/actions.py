"""Actions: has what the answer claims to have done been done, by the calls on record?"""

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
#: Tools that do whatever they are told: their arguments say what.
_GENERIC_WORDS = """
    run execute exec sql query bash shell http request api rest python code browser computer
    invoke call tool command terminal cmd graphql script function action
"""
_GENERIC = frozenset(_GENERIC_WORDS.split())
#: Words for one thing, by the first of each line.
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
_ARGUMENTS = 20_000  # characters of a call's arguments that are read
_CLIP = 300  # characters of arguments and results that the raw value shows


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
    """Whether each action that the answer claims to have done is among the tool calls on record.

    Claims are found by rules on English words (see :mod:`veridical.text.actions`): "I created the
    ticket", "Your flight has been booked". Calls and results are those of the prompt's messages:
    ``tool_calls`` of assistants and messages of the role ``tool``, or Anthropic's ``tool_use`` and
    ``tool_result`` blocks. No model is asked.

    A call matches an action where the tool's name, or what a tool that runs anything (``bash``,
    ``execute_sql``) is told, has a word for that kind of action, and name or arguments have one of
    the words that say what was acted on. Labels, and the risk of an action:

    - ``done``, 0: a call matches, and its result tells of no error;
    - ``failed``, 1: every call that matches came back with an error: marked as one, beginning as
      one, or a JSON object with ``error``, ``success: false`` or a status of 400 to 599;
    - ``unconfirmed``, 0.5: a call matches, and no result of it is on record;
    - ``similar``, 0.5: a call is of that kind or about that thing, not both, and no other action
      has it for its own;
    - ``not_called``, 1: none of these.

    The response's risk is the largest. A unit is a sentence, with the risk of the worst action it
    claims (null, ``no_action``, of one that claims none), or an action (level ``span``). Evidence
    is the call's result where the contexts hold it. ``raw`` has ``risk``; how many actions are
    ``claimed``, how many of each label, how many ``calls`` there are; and under ``actions`` each
    one's ``text``, ``kind``, ``label`` and ``call``: index of its ``message``, ``name``,
    ``arguments``, ``result``.

    That a call was made does not say that what it did is told correctly: that is for the scorers
    that compare with contexts. No verdict rests on this one.

    Raises:
        NotApplicable: a blank response; the prompt is no list of messages, so that no call is on
            record; or the rules find no claimed action.
    """
    record.need_response()
    if record.prompt is None or isinstance(record.prompt, str):
        raise NotApplicable("the prompt is no conversation (chat messages): no call is on record")
    claimed = claimed_actions(record.sentences)
    if not claimed:
        raise NotApplicable("the response claims no action that the rules (English) know")
    calls = [_Call.of(call) for call in tool_calls(record.prompt)]
    outcomes = _outcomes(claimed, calls)
    return _score(record, outcomes, len(calls))


class _Call(NamedTuple):
    """A call, and its words.

    Attributes:
        said: those that tell its kind: of its tool's name, and of what a tool that runs anything is
            told.
        words: of name and arguments.
        other: whether the name says that it is of another kind, or that it reads.
    """

    call: ToolCall
    said: frozenset[str]
    words: frozenset[str]
    other: bool

    @classmethod
    def of(cls, call: ToolCall) -> _Call:
        name, arguments = _words(call.name[:_CLIP]), _words(call.arguments[:_ARGUMENTS])
        said = name | arguments if name & _GENERIC else name
        return cls(call, said, name | arguments, not name.isdisjoint(_EVERY_WORD | _READS))


class _Wanted(NamedTuple):
    """What a call of an action has: words for its kind, and words of its thing."""

    verbs: frozenset[str]
    about: frozenset[str]

    @classmethod
    def of(cls, action: Action) -> _Wanted:
        return cls(
            frozenset(TOOL_WORDS[action.kind]) | {_plain(action.verb)},
            _words(" ".join(action.objects)),
        )

    def grade(self, call: _Call) -> int:
        """2 where the call is of the action's kind and about its thing, 1 where it is either."""
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
    """What became of each action. A call that is one action's own stands for no other that it is
    only similar to."""
    distinct = {(a.kind, a.verb, a.objects): a for a in claimed}
    wanted = {key: _Wanted.of(a) for key, a in distinct.items()}
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
    """The words of a name or of arguments, as they are compared."""
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
    """The first context that is the call's result, or a part of it."""
    result = (outcome.call.result if outcome.call is not None else None) or ""
    source = next((c for c in contexts if c.text in result), None) if result else None
    return [EvidenceItem.at(source, 0, min(len(source.text), _CLIP))] if source else []


def _shown(outcome: _Outcome, response: str) -> dict[str, Any]:
    action, call = outcome.action, outcome.call
    return {
        "text": response[action.start : action.end],
        "kind": action.kind,
        "label": outcome.label,
        "call": call
        and {
            "message": call.message,
            "name": call.name[:_CLIP],
            "arguments": call.arguments[:_CLIP],
            "result": call.result and call.result[:_CLIP],
        },
    }
