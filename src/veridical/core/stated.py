"""Statements of answers in the form that NLI models judge.

Short statements are joined with their question. All scorers that use an NLI model on an answer or
its sentences take their texts from here. Units, offsets and evidence refer to the unaltered answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from veridical.core.prompt_text import last_question
from veridical.core.scores import Unit
from veridical.errors import NotApplicable
from veridical.text.asked import content_stems
from veridical.text.assertions import asserts
from veridical.text.attribution import attributes_alone, attribution_lead_in, attribution_tail
from veridical.text.citations import (
    blanked_markers,
    heads_a_list,
    is_listed_source,
    lists_source,
    without_markers,
)
from veridical.text.copies import is_whole
from veridical.text.decoration import undecorated, unfenced
from veridical.text.fact_words import MONTHS
from veridical.text.framing import frame_lead_in, frame_tail
from veridical.text.headings import is_heading
from veridical.text.readable import readable
from veridical.text.reasoning import answer_only
from veridical.text.refusals import abstains, abstention, stated_part
from veridical.text.relevance import plain_words
from veridical.text.sentences import split_sentences
from veridical.text.small_talk import is_advice, lead_in, small_talk
from veridical.text.spans import Span
from veridical.text.statements import (
    Statement,
    answers_yes_or_no,
    is_sentence,
    to_judge,
    verdict_word,
)
from veridical.text.structure import judged_units

if TYPE_CHECKING:
    from veridical.core.evidence import Evidence
    from veridical.core.records import Record, Source
    from veridical.text.passages import Passage

#: Pattern of questions that advice may answer.
_ASKS_FOR_ADVICE = re.compile(
    r"\b(?:who|whom|contact|ask|reach|consult|should|must|how|next|where|whose|steps?|todo)\b"
    r"|\b(?:do|can) i (?:do|need|have)\b",
    re.IGNORECASE,
)
_QUESTION_LABEL = re.compile(
    r"^[\s*_#>]{0,8}(?:q(?:uestion)?|query|frage|pregunta|domanda)[*_]{0,3}\s?:[*_]{0,3}\s?",
    re.IGNORECASE,
)
_LONGEST_QUESTION = 2_000  # characters
#: The number of a list item: "1. The shop is open."
_POINT = re.compile(
    r"\s{0,9}\(?\d{1,2}[.)][ \t]{1,9}(?!(?:" + "|".join(MONTHS) + r")\b)(?=[^\W\d_]+ [^\W\d_])",
    re.IGNORECASE,
)
_AFTER = 2_000  # characters after a heading in which text must follow
_MOST_LEAD_INS = 4
#: Maximum share of the words of "The text is about ..." that need not occur in the sources.
_UNKNOWN_SHARE = 0.5
_STEM = 4  # letters by which these words are compared
_SHORT = 3  # words; "Sure!" may answer a yes/no question, "I'd be happy to help!" does not


def stating_sentences(record: Record) -> list[Span]:
    """Return the sentences of the response that state something, in order.

    Left out are:

    - blank sentences, those without a letter or digit, reasoning, headings and lists of sources
    - sentences that only say that the sources lack the answer (:mod:`veridical.text.refusals`)
    - text that only names the answer's source (:mod:`veridical.text.attribution`)
    - small talk (:mod:`veridical.text.small_talk`)

    Small talk is a courtesy anywhere, or a reply ("It is.") before the first statement, except the
    verdict on a yes/no question. If there are only replies, they are the answer ("Yes."). With a
    reference or samples, any text is compared with these.
    """
    answer = record.answer
    question = last_question(record.prompt)
    spans = [s for s in record.sentences if _has_word(answer[s.start : s.end])]
    silent = _silent(record, spans)
    known = known_words(record)
    values = judged_units(answer)
    kinds = [
        None
        if (s.start, s.end) in values
        else "courtesy"
        if is_silent or _declines(s.text, known) or _repeats(question, s.text)
        else small_talk(s.text)
        for s, is_silent in zip(spans, silent, strict=True)
    ]
    if not any(kinds) and not any(is_advice(s.text) for s in spans[1:]):
        return spans
    said: list[Span] = []
    for span, kind in zip(spans, kinds, strict=True):
        short = kind == "reply" or len(span.text.split()) <= _SHORT
        first = not said and short and answers_yes_or_no(question, span.text)
        if kind is None or first or (kind == "reply" and said):
            said.append(span)
    if len(said) > 1 and _leads_to(question, said[0], said[1]):
        said = said[1:]
    while len(said) > 1 and is_advice(said[-1].text) and not _ASKS_FOR_ADVICE.search(question):
        said.pop()
    if said or record.has("reference") or record.has("samples"):
        return said or spans
    return [s for s, kind in zip(spans, kinds, strict=True) if kind == "reply"]


def _leads_to(question: str, reply: Span, following: Span) -> bool:
    """Return True if a sentence answers the question by yes or no, and the next one states
    something."""
    return verdict_word(question, reply.text) is not None and is_sentence(following.text)


def _reply_before(record: Record, question: str, sentence: Span) -> str:
    """Return the yes or no before the response's ``sentence``, as a prefix of it."""
    if record.response[sentence.start : sentence.end] != sentence.text:  # of a source
        return ""
    before = [s for s in record.sentences if s.end <= sentence.start and _has_word(s.text)]
    if not before or not _leads_to(question, before[-1], sentence):
        return ""
    return f"{verdict_word(question, before[-1].text)}. "


def _has_word(text: str) -> bool:
    """Return True if a sentence contains letters or digits outside citations and markup."""
    return any(map(str.isalnum, text)) and any(map(str.isalnum, readable(without_markers(text))))


def _silent(record: Record, spans: Sequence[Span]) -> list[bool]:
    """Return for each of the response's sentences True if it only names sources or announces
    text."""
    found: list[bool] = []
    listed = False
    text = record.answer
    for s in spans:
        listed = (listed and is_listed_source(s.text)) or heads_a_list(s.text)
        found.append(
            (listed and is_listed_source(s.text))
            or lists_source(s.text)
            or attributes_alone(s.text)
            or is_heading(s.text, text[: s.start], text[s.end : s.end + _AFTER])
        )
    return found


def _declines(sentence: str, known: Callable[[str], bool] | None) -> bool:
    """Return True if a sentence declines and states nothing."""
    start, end = stated_part(answer_only(sentence), known)
    return start == end


def _repeats(question: str, sentence: str) -> bool:
    """Return True if a sentence repeats the question, as in "Q: Where is it?"."""
    bare = _QUESTION_LABEL.sub("", sentence)
    if not question or not (bare != sentence or sentence.rstrip(" *_").endswith(("?", "？"))):
        return False
    words = re.findall(r"\w+", bare[:_LONGEST_QUESTION].lower())
    return bool(words) and words == re.findall(r"\w+", question[:_LONGEST_QUESTION].lower())


def known_words(record: Record) -> Callable[[str], bool] | None:
    """Return a predicate: the contexts contain most words of a text and all its numbers; None for a
    record without contexts."""
    texts = [c.text for c in record.contexts if c.text]
    if not texts:
        return None

    def known(text: str) -> bool:
        words = set(content_stems(text))
        held = {h[:_STEM] for context in texts for h in content_stems(context)}
        unknown = [w for w in words if w[:_STEM] not in held]
        there = frozenset[str]().union(*map(plain_words, texts))
        wrong = any(any(map(str.isdigit, w)) for w in plain_words(text) - there)
        return not wrong and len(unknown) <= _UNKNOWN_SHARE * len(words)

    return known


def without_lead_in(record: Record, sentence: Span) -> Span:
    """Return a sentence without its lead-in.

    The lead-in is the agreement or greeting at its beginning, attributions at both ends, and a
    refusal next to a statement. The verdict on a yes/no question is kept. A value of a structured
    answer is returned unaltered.
    """
    if (sentence.start, sentence.end) in judged_units(record.answer):
        return sentence
    text = blanked_markers(answer_only(sentence.text))
    question = last_question(record.prompt)
    start, stop = stated_part(text, known_words(record)) if abstention(text) else (0, len(text))
    if start < stop:
        text = text[:stop]
    else:
        start = 0
    for _ in range(_MOST_LEAD_INS):
        cut = lead_in(text[start:])
        if cut and answers_yes_or_no(question, text[start:]):
            cut = 0
        cut += attribution_lead_in(text[start + cut :], asked=bool(question))
        cut += frame_lead_in(text[start + cut :])
        if not cut:
            break
        start += cut
    end = start + attribution_tail(text[start:])
    end = start + frame_tail(text[start:end])
    if (start, end) == (0, len(sentence.text)):
        return sentence
    return Span(sentence.start + start, sentence.start + end, sentence.text[start:end])


def need_statements(record: Record) -> list[Span]:
    """Return the :func:`stating_sentences`.

    Raises:
        NotApplicable: no sentence states anything.
    """
    record.need_sentences()
    said = stating_sentences(record)
    if not said:
        raise NotApplicable("the response states nothing")
    return said


def basis_key(against: str, top: int) -> tuple[str, str, int]:
    """Return the key of :meth:`~veridical.core.evidence.Evidence.once` for the basis of each
    sentence, by its start."""
    return "statements by basis", against, top


def unit_of_each(record: Record, units: Sequence[Unit]) -> list[Unit]:
    """Return ``units`` of sentences in order, and one without a risk for each sentence that states
    nothing."""
    stating = {s.start for s in stating_sentences(record)}
    silent = [s for s in record.sentences if s.text.strip() and s.start not in stating]
    return sorted([*units, *(Unit.of(s, None) for s in silent)], key=lambda u: u.start)


def states_nothing(record: Record) -> bool:
    """Return True if the response has no word, declines to answer, or is nothing but courtesies."""
    text = record.answer
    return (
        not any(map(str.isalnum, text))
        or abstains(text, known_words(record))
        or not stating_sentences(record)
    )


def stated(record: Record, sentences: Sequence[Span]) -> list[Statement]:
    """Return the texts to judge for an answer's ``sentences``, in order.

    The first sentence answers the question; if it is short, it is read with the question (see
    :func:`veridical.text.statements.to_judge`). The others are judged as they are. Citations by
    number are left out, because models take them for content, and so are lead-ins ("Sure, ...") and
    attributions. Words are normalised by :func:`veridical.text.readable.readable`. Each value of a
    structured answer is judged with its names (:mod:`veridical.text.structure`).
    """
    values = judged_units(record.answer)
    units = [values.get((s.start, s.end)) for s in sentences]
    texts = [as_read(record, s) for s in sentences]
    statements = [
        u.statement if u is not None and u.statement else Statement(text, 0, len(text), "answer")
        for u, text in zip(units, texts, strict=True)
    ]
    question = last_question(record.prompt)
    if statements and question and units[0] is None:
        reply = _reply_before(record, question, sentences[0])
        statements[0] = _answering(record, question, reply + texts[0])
    return statements


def _answering(record: Record, question: str, text: str) -> Statement:
    """Return a first sentence as an answer to the question; unaltered if a whole context states
    it."""
    if any(is_whole(text, c.text) for c in record.contexts):
        return Statement(text, 0, len(text), "answer")
    return to_judge(question, text)


def as_read(record: Record, sentence: Span) -> str:
    """Return a sentence's own statement in the form that a model should read."""
    said = _without_number(without_lead_in(record, sentence))
    text = undecorated(readable(without_markers(unfenced(answer_only(said.text))))).strip()
    if said.start > sentence.start and text[:1].islower() and text.split(None, 1)[0].islower():
        text = text[0].upper() + text[1:]
    whole = sentence.text.rstrip(" *_")
    if said.end < sentence.end and whole.endswith((".", ")")) and text[-1:].isalnum():
        text += "."
    return text


def _without_number(said: Span) -> Span:
    """Return a sentence without its list number."""
    point = _POINT.match(said.text)
    if point is None or not asserts(said.text[point.end() :]):
        return said
    return Span(said.start + point.end(), said.end, said.text[point.end() :])


def stated_sentences(record: Record, sentences: Sequence[Span]) -> list[str]:
    """Return the texts of :func:`stated`."""
    return [s.text for s in stated(record, sentences)]


def stated_answer(record: Record, text: str) -> str:
    """Return a whole answer whose first sentence is in the judged form, without citations by
    number."""
    text = readable(without_markers(answer_only(text))).strip() or text
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
    """Return a source's text in the judged form: samples and references answer the question as
    well, contexts are passages of their own."""
    if source.kind == "context":
        return readable(source.text)
    text = source.text
    return evidence.once((stated_answer, text), lambda: stated_answer(record, text))


def stated_window(record: Record, evidence: Evidence, source: Source, window: Passage) -> str:
    """Return the text to judge for a window of a source.

    At the beginning of a sample or reference, its first sentence is in the judged form.
    """
    text = window.text
    if source.kind == "context" or source.text[: window.start].strip():
        return undecorated(readable(text))
    return evidence.once((stated_answer, text), lambda: stated_answer(record, text))


def stated_source_sentences(
    record: Record, evidence: Evidence, source: Source, sentences: Sequence[Span]
) -> list[str]:
    """Return the texts to judge for a source's ``sentences``, in order."""
    if source.kind == "context":
        return [readable(s.text) for s in sentences]
    key = (stated_source_sentences, source)
    return evidence.once(key, lambda: stated_sentences(record, sentences))
