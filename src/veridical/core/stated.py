"""What answers state, as a model judges them: short ones together with their question.

Every scorer that has an NLI model judge an answer, or a sentence of one, asks here for the text.
Units, offsets and evidence stay those of the answer as it was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from veridical.core.prompt_text import last_question
from veridical.core.scores import Unit
from veridical.errors import NotApplicable
from veridical.text.citations import without_markers
from veridical.text.refusals import abstains
from veridical.text.sentences import split_sentences
from veridical.text.small_talk import lead_in, small_talk
from veridical.text.spans import Span
from veridical.text.statements import Statement, answers_yes_or_no, to_judge

if TYPE_CHECKING:
    from veridical.core.evidence import Evidence
    from veridical.core.records import Record, Source
    from veridical.text.passages import Passage

_SHORT = 3  # words: "Sure!" may answer a question of yes or no, "I'd be happy to help!" does not


def stating_sentences(record: Record) -> list[Span]:
    """The sentences of the response that state something, in order; none where nothing is stated.

    Left out are blank ones, those without a letter or digit, and small talk
    (:mod:`veridical.text.small_talk`): a courtesy wherever it stands, and a reply ("It is.") before
    the first statement, but not the verdict on a question of yes or no. Where replies are all that
    is said, they are the answer ("Yes."), and with a reference or samples whatever is said is
    compared with these.
    """
    answer = record.answer
    spans = [s for s in record.sentences if any(map(str.isalnum, answer[s.start : s.end]))]
    kinds = [small_talk(s.text) for s in spans]
    if not any(kinds):
        return spans
    question = last_question(record.prompt)
    said: list[Span] = []
    for span, kind in zip(spans, kinds, strict=True):
        short = kind == "reply" or len(span.text.split()) <= _SHORT
        first = not said and short and answers_yes_or_no(question, span.text)
        if kind is None or first or (kind == "reply" and said):
            said.append(span)
    if said or record.reference or record.samples:
        return said or spans
    return [s for s, kind in zip(spans, kinds, strict=True) if kind == "reply"]


def without_lead_in(record: Record, sentence: Span) -> Span:
    """A sentence without the agreement or the greeting that it begins with, but with its verdict on
    a question of yes or no."""
    cut = lead_in(sentence.text)
    if not cut or answers_yes_or_no(last_question(record.prompt), sentence.text):
        return sentence
    return Span(sentence.start + cut, sentence.end, sentence.text[cut:])


def need_statements(record: Record) -> list[Span]:
    """:func:`stating_sentences`.

    Raises:
        NotApplicable: there is none.
    """
    record.need_sentences()
    said = stating_sentences(record)
    if not said:
        raise NotApplicable("the response states nothing")
    return said


def unit_of_each(record: Record, units: Sequence[Unit]) -> list[Unit]:
    """``units`` of sentences in order, and one without a risk for each that states nothing."""
    stating = {s.start for s in stating_sentences(record)}
    silent = [s for s in record.sentences if s.text.strip() and s.start not in stating]
    return sorted([*units, *(Unit.of(s, None) for s in silent)], key=lambda u: u.start)


def states_nothing(record: Record) -> bool:
    """Whether the response holds no word, declines to answer, or is nothing but courtesies."""
    text = record.answer
    return not any(map(str.isalnum, text)) or abstains(text) or not stating_sentences(record)


def stated(record: Record, sentences: Sequence[Span]) -> list[Statement]:
    """What to judge in the place of an answer's ``sentences``, in order.

    The first one answers the question, and where it is short it is read with it (see
    :func:`veridical.text.statements.to_judge`); the others say what they say. Citations by number
    are left out: models take them for a part of what is said. So is what leads in ("Sure, ...").
    """
    texts = [without_markers(without_lead_in(record, s).text) for s in sentences]
    statements = [Statement(text, 0, len(text), "answer") for text in texts]
    question = last_question(record.prompt)
    if statements and question:
        statements[0] = to_judge(question, texts[0])
    return statements


def stated_sentences(record: Record, sentences: Sequence[Span]) -> list[str]:
    """The texts of :func:`stated`."""
    return [s.text for s in stated(record, sentences)]


def stated_answer(record: Record, text: str) -> str:
    """A whole answer to the record's question with its first sentence as it is judged, without
    citations by number."""
    text = without_markers(text)
    question = last_question(record.prompt)
    if not question:
        return text
    sentences = split_sentences(text)
    if not sentences:
        return text
    first = sentences[0]
    said = to_judge(question, first.text)
    return text if said.how == "answer" else text[: first.start] + said.text + text[first.end :]


def stated_source(record: Record, evidence: Evidence, source: Source) -> str:
    """A source's text as it is judged: samples and references answer the question as well,
    contexts are passages of their own."""
    if source.kind == "context":
        return source.text
    text = source.text
    return evidence.once((stated_answer, text), lambda: stated_answer(record, text))


def stated_window(record: Record, evidence: Evidence, source: Source, window: Passage) -> str:
    """The text to judge by in the place of a window of a source: of one that begins a sample or
    reference, with the first sentence as it is judged."""
    text = window.text
    if source.kind == "context" or source.text[: window.start].strip():
        return text
    return evidence.once((stated_answer, text), lambda: stated_answer(record, text))


def stated_source_sentences(
    record: Record, evidence: Evidence, source: Source, sentences: Sequence[Span]
) -> list[str]:
    """Texts to judge in the place of a source's ``sentences``, in order."""
    if source.kind == "context":
        return [s.text for s in sentences]
    key = (stated_source_sentences, source)
    return evidence.once(key, lambda: stated_sentences(record, sentences))
