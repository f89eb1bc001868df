"""Language gate: the sentences and sources that an NLI model can read."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from veridical.core.prompt_text import last_question
from veridical.core.records import AUTO
from veridical.core.scores import Score, Unit
from veridical.errors import NotApplicable
from veridical.text.copies import is_copy
from veridical.text.languages import known_language, language_of
from veridical.text.scripts import UNREAD

if TYPE_CHECKING:
    from veridical.core.evidence import Evidence
    from veridical.core.records import Record, Source
    from veridical.text.spans import Span


@dataclass(frozen=True)
class LanguageGate:
    """Language filter for the texts of a record.

    A sentence without a detected language (a short one, a name, a figure) has the answer's. An
    answer without one has that of the question, then of the contexts. A source without one has that
    of all sources together.

    Attributes:
        languages: codes as of :func:`~veridical.text.languages.language_of`; None accepts any.
        model: name of the model.
        answer: language of the answer; None if unknown.
        copied: sentences of the answer that occur verbatim in a source and need no model.
        copied_from: kind and index of these sources.
    """

    languages: frozenset[str] | None
    model: str
    answer: str | None
    copied: frozenset[str] = frozenset()
    copied_from: frozenset[tuple[str, int]] = frozenset()

    @property
    def open(self) -> bool:
        """True if the model reads any language."""
        return self.languages is None

    def reads(self, language: str | None) -> bool:
        """Return True if the model reads ``language``; an unknown language (None) counts as
        read."""
        return self.languages is None or language is None or language in self.languages

    def reads_sentence(self, sentence: Span) -> bool:
        """Return True if the model reads a sentence of the answer, or need not."""
        if self.open or self.reads(language_of(sentence.text) or self.answer):
            return True
        return sentence.text.strip() in self.copied

    def sources(self, sources: Sequence[Source]) -> list[Source]:
        """Return the ``sources`` that the model reads, in order."""
        if self.open:
            return list(sources)
        languages = [language_of(s.text) for s in sources]
        if None in languages:
            shared = language_of("\n".join(s.text for s in sources))
            languages = [language or shared for language in languages]
        return [
            s
            for s, x in zip(sources, languages, strict=True)
            if self.reads(x) or (s.kind, s.index) in self.copied_from
        ]

    @property
    def reason(self) -> str:
        """Reason of a score that does not apply, for a result line."""
        read = ", ".join(sorted(self.languages or ()))
        return f"{self.model} reads {read}; {UNREAD}"

    def unread(self, sentences: Sequence[Span]) -> Score:
        """Return the score of an answer in which no sentence could be judged."""
        units = tuple(unread_unit(s) for s in sentences)
        return Score.not_applicable(self.reason).model_copy(update={"units": units})


#: Gate that accepts any language.
OPEN = LanguageGate(None, "", None)


async def language_gate(record: Record, evidence: Evidence, nli: str | None = None) -> LanguageGate:
    """Return the gate of the run's NLI model, or of the one named by ``nli``.

    Raises:
        ModelError: the model cannot be loaded.
    """
    languages = await evidence.nli_languages(nli)
    if languages is None:
        return OPEN
    answer = evidence.once("language of the answer", partial(_answer_language, record))
    gate = LanguageGate(languages, await evidence.nli_name(nli), answer)
    key = (_copies, languages)
    copied, copied_from = evidence.once(key, lambda: _copies(record, gate))
    return replace(gate, copied=copied, copied_from=copied_from)


def _copies(
    record: Record, gate: LanguageGate
) -> tuple[frozenset[str], frozenset[tuple[str, int]]]:
    """Return the sentences that ``gate`` excludes but a source contains verbatim, and these
    sources."""
    texts = [s.text.strip() for s in record.sentences if not gate.reads_sentence(s)]
    if not texts:
        return frozenset(), frozenset()
    sources: list[Source] = []
    for field in AUTO:
        with suppress(NotApplicable):
            sources += record.against(field)
    found = [(text, s) for text in texts for s in sources if is_copy(text, s.text)]
    return frozenset(t for t, _ in found), frozenset((s.kind, s.index) for _, s in found)


def unread_unit(sentence: Span) -> Unit:
    """Return a unit for a sentence in a language that no model reads."""
    return Unit.of(sentence, None, reason="language")


def _answer_language(record: Record) -> str | None:
    language = language_of(record.response)
    if language is None:
        spoken = {language_of(s.text) for s in record.sentences} - {None}
        language = spoken.pop() if len(spoken) == 1 else None
    if language is not None:
        return language
    question = last_question(record.prompt) or ""
    sources = "\n".join(c.text for c in record.contexts)
    return known_language([question, sources, record.response])
