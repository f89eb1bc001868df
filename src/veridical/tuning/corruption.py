"""Wrong variants of right answers: typed edits, with exact spans."""

from __future__ import annotations

import random
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, get_args

from veridical.errors import RowError, UsageError
from veridical.text.display import shown
from veridical.text.edit_words import OPPOSED
from veridical.text.facts import Facts
from veridical.text.sentences import split_sentences
from veridical.text.spans import FindingKind, Span
from veridical.text.typed_edits import KINDS, Edited, Name, edits

if TYPE_CHECKING:
    from veridical.core.records import Record

#: Kinds of findings that a rule can make.
BY_RULE: tuple[FindingKind, ...] = tuple(dict.fromkeys(KINDS.values()))
_MAX_FOREIGN_SENTENCES = 64
_PLACE = re.compile(r"\b(?:in|at|from|near|to|of) (?:the )?$", re.IGNORECASE)
_SYMMETRIC = re.compile(
    r"\b(with|between|met|married|both|joined|faced|share[sd]?|against|versus|include[sd]?)\b"
)
_JOINED_BEFORE = re.compile(r"(?:,|\b(?:and|or)) $")
_JOINED_AFTER = re.compile(r",| (?:and|or)\b")
_UNSTATED = ("not_entailment", "not_entailment")
_WORD = re.compile(r"\w+")


class WrongVariant(NamedTuple):
    """A wrong answer made from a right one.

    Attributes:
        span: the wrong characters of ``text``.
        was: the characters of the right answer that they replace.
        by: ``rule``, or the model that wrote it.
    """

    kind: FindingKind
    text: str
    span: Span
    was: str
    by: str


class VariantWriter(Protocol):
    """A model that writes variants.

    Attributes:
        rejected: replies that could not be used, by reason.
    """

    rejected: Counter[str]

    def variants(
        self, record: Record, kinds: Sequence[FindingKind], rng: random.Random
    ) -> list[WrongVariant]:
        """Return at most one variant for each kind."""
        ...


def kinds_of(names: str | None, llm: bool) -> tuple[FindingKind, ...]:
    """Read a list of kinds, separated by commas; None means all that can be made.

    Args:
        llm: True if a model writes edits too.

    Raises:
        UsageError: a name is not a kind, or only a model can make it.
    """
    possible: tuple[FindingKind, ...] = get_args(FindingKind) if llm else BY_RULE
    if names is None:
        return possible
    chosen = [name.strip() for name in names.split(",") if name.strip()]
    for name in chosen:
        if name not in get_args(FindingKind):
            kinds = ", ".join(get_args(FindingKind))
            raise UsageError(f"--kinds: {shown(name)} is not a kind of finding; one of {kinds}")
        if name not in possible:
            raise UsageError(f"--kinds {name}: no rule makes it; name a model by --llm")
    if not chosen:
        raise UsageError(f"--kinds is empty; name some of {', '.join(possible)}")
    return tuple(kind for kind in possible if kind in chosen)


@dataclass
class Corruption:
    """The right answers of an input and their wrong variants, and how many there are.

    Attributes:
        kinds: kinds of edits to make.
        n: maximum variants of an answer by the rules, and as many by ``editor``.
        made: variants by kind.
        right: right answers written.
        without: right answers that no edit applies to.
        wrong: records left out because their label says hallucinated.
        errors: rows that are not records.
    """

    kinds: Sequence[FindingKind]
    n: int
    seed: int = 0
    editor: VariantWriter | None = None
    made: Counter[str] = field(default_factory=Counter)
    right: int = 0
    without: int = 0
    wrong: int = 0
    errors: list[RowError] = field(default_factory=list)
    _earlier: deque[tuple[str, str]] = field(
        default_factory=lambda: deque(maxlen=_MAX_FOREIGN_SENTENCES)
    )

    def rows(self, records: Iterable[Record | RowError]) -> Iterator[dict[str, Any]]:
        """Yield each right answer as a labelled record, then its variants."""
        for record in records:
            if isinstance(record, RowError):
                self.errors.append(record)
            elif record.label is not None and record.label >= 0.5:
                self.wrong += 1
            else:
                yield from self._of(record)

    def _of(self, record: Record) -> Iterator[dict[str, Any]]:
        rng = random.Random(f"{self.seed}/{record.row}")
        found = self._by_rule(record, rng)
        variants = self._drawn(found, rng)
        if self.editor is not None:
            variants += self.editor.variants(record, self._rarest(self.kinds, rng)[: self.n], rng)
        right = record.sentences
        self._earlier += ((str(record.prompt), s.text) for s in right)
        if not variants:
            self.without += 1
            return
        self.right += 1
        units = [{"start": s.start, "end": s.end, "label": 0} for s in right]
        yield _row(record, None, {"response": record.response, "label": 0, "unit_labels": units})
        numbers: Counter[str] = Counter()
        for variant in variants:
            self.made[variant.kind] += 1
            numbers[variant.kind] += 1
            fields = {"response": variant.text, "label": 1, "unit_labels": _labels(record, variant)}
            edit = {"edit_kind": variant.kind, "edit_was": variant.was, "edit_by": variant.by}
            yield _row(record, f"{variant.kind}-{numbers[variant.kind]}", {**fields, **edit})

    def _drawn(
        self, found: dict[str, list[WrongVariant]], rng: random.Random
    ) -> list[WrongVariant]:
        """Draw up to ``n`` variants, of the kinds that are rare so far first."""
        drawn: list[WrongVariant] = []
        while len(drawn) < self.n and found:
            for kind in self._rarest(list(found), rng)[: self.n - len(drawn)]:
                variants = found[kind]
                drawn.append(variants.pop(rng.randrange(len(variants))))
                if not variants:
                    del found[kind]
        return drawn

    def _rarest(self, kinds: Sequence[Any], rng: random.Random) -> list[Any]:
        return sorted(rng.sample(kinds, len(kinds)), key=lambda kind: self.made[kind])

    def _by_rule(self, record: Record, rng: random.Random) -> dict[str, list[WrongVariant]]:
        """Return the wrong edits of a record's sentences by kind."""
        names = _names([record.answer, *(c.text for c in record.contexts)])
        sources = "\n".join(c.text for c in record.contexts)
        others = [
            text
            for prompt, text in self._earlier
            if prompt != str(record.prompt) and text not in sources
        ]
        foreign = rng.sample(others, min(3, len(others)))
        found: dict[str, list[WrongVariant]] = {}
        for sentence in record.sentences:
            for edit in edits(sentence.text, rng, names, foreign=foreign):
                if edit.kind in self.kinds and _is_wrong(edit, sentence.text):
                    found.setdefault(edit.kind, []).append(_variant(record, sentence, edit))
        return found


def _is_wrong(edit: Edited, sentence: str) -> bool:
    """Return True if what the edit says cannot be right where the sentence is."""
    if any(edit.text[end : end + 1] in ("'", "’") for _, end in edit.spans):
        return False  # "won't"
    if edit.rule == "splice":
        return edit.label == "neutral"
    if edit.rule == "name":
        ((start, end),) = edit.was
        joined = _JOINED_BEFORE.search(sentence, 0, start) or _JOINED_AFTER.match(sentence, end)
        return not joined and not _SYMMETRIC.search(sentence)  # "A met B": perhaps also C
    if edit.rule == "relation":
        return (edit.label, edit.back) == _UNSTATED
    return (edit.label, edit.back) == OPPOSED


def _variant(record: Record, sentence: Span, edit: Edited) -> WrongVariant:
    text = record.response[: sentence.start] + edit.text + record.response[sentence.end :]
    start, end = _marked(edit)
    was = " … ".join(sentence.text[a:b] for a, b in edit.was)
    span = Span(sentence.start + start, sentence.start + end, edit.text[start:end])
    return WrongVariant(edit.kind, text, span, was, "rule")


def _marked(edit: Edited) -> tuple[int, int]:
    """Return the wrong characters; of an edit that only removes words, the word before them."""
    if edit.spans:
        return edit.spans[0][0], edit.spans[-1][1]
    at = edit.was[0][0]
    before = list(_WORD.finditer(edit.text, 0, at))
    return before[-1].span() if before else (0, at)


def _names(texts: Sequence[str]) -> list[Name]:
    """Return the names of texts, of a place or of as many words as one kind."""
    names = []
    for text in texts:
        spans = [(s.start, s.end) for s in split_sentences(text)]
        for facts in Facts(text).find(spans):
            for fact in facts:
                if fact.kind == "name":
                    name = text[fact.start : fact.end]
                    place = _PLACE.search(text, max(0, fact.start - 12), fact.start)
                    names.append(Name(name, "place" if place else f"{len(name.split())} words"))
    return names


def _labels(record: Record, variant: WrongVariant) -> list[dict[str, Any]]:
    """Return unit labels: the wrong characters, and the sentences without them."""
    shift = len(variant.text) - len(record.response)
    labels = [{"start": variant.span.start, "end": variant.span.end, "label": 1}]
    for sentence in record.sentences:
        start, end = sentence.start, sentence.end
        if end <= variant.span.start:
            labels.append({"start": start, "end": end, "label": 0})
        elif start + shift >= variant.span.end:
            labels.append({"start": start + shift, "end": end + shift, "label": 0})
    return sorted(labels, key=lambda label: label["start"])


_KEPT = {"prompt", "contexts", "reference", "samples"}
_NO_EDIT = {"edit_kind": None, "edit_was": None, "edit_by": None}


def _row(record: Record, variant: str | None, extra: dict[str, Any]) -> dict[str, Any]:
    """Return a row of the output: the record's own fields and columns, and ``extra``."""
    number = record.row if record.id is None else record.id
    row: dict[str, Any] = {"id": number if variant is None else f"{number}/{variant}"}
    row |= record.model_dump(include=_KEPT, exclude_defaults=True, mode="json")
    row |= record.meta
    if not record.prompt:
        row.setdefault("group", str(number))
    return {**row, **_NO_EDIT, **extra}
