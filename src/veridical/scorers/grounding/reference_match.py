"""Reference match: does the answer mean what the gold answer says?"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import Any, NamedTuple

from veridical.core.evidence import Evidence
from veridical.core.prompt_text import message_text
from veridical.core.protocols import LABELS
from veridical.core.records import Record, Source
from veridical.core.registry import scorer
from veridical.core.scores import Score, Unit
from veridical.errors import NotApplicable
from veridical.scorers._most_about import place_most_about, sentence_most_about
from veridical.text.short_answers import ShortMatch, changed, figures_differ, short_match
from veridical.text.spans import Span
from veridical.text.statements import statement

#: Weights of a short answer's share and of entailment, and the constant: a logistic regression on
#: the first 80 % of EfficientQA's graded predictions (Min et al. 2021).
_SHARE, _ENTAILED, _CONSTANT = -2.83, -1.42, 0.69
#: The fixed rule for statements.
_NLI, _CHANGED = 2.0, 1.5
#: Answers whose notation tells that they are equal or not, and what is there but denied.
_SURE, _DENIED = 3.0, 2.0
_LONGEST_QUESTION = 1_000  # characters; a longer prompt holds more than a question
_EVEN = 0.5
_EXCHANGED = 0.75  # of the risk of an exchange of words, what is shown as contradiction
_ENTAILMENT, _NEUTRAL, _CONTRADICTION = range(len(LABELS))


@scorer(
    "reference_match",
    level="sentence",
    version=3,
    needs={"reference"},
    source="Veridical: NLI both ways after Honovich 2022 (TRUE), matching after Min 2021 "
    "(EfficientQA) and Bulian 2022 (BEM)",
    cost="nli",
    judges=True,
    raw_is="risk",
    presets={"all", "auto"},
)
async def reference_match(record: Record, evidence: Evidence) -> Score:
    """The risk that the answer does not mean what a gold answer says.

    Question and answer are read as one statement where the answer is short (see
    :func:`~veridical.text.statements.statement`). The risk against one reference is
    1 / (1 + exp(-z)), where z is

    - where the notation of both tells (numbers with units, dates, times, options, yes and no,
      lists, JSON, expressions; see :func:`~veridical.text.values.answers.same_answer`): -3 if they
      are the same, else 3;
    - where one text is short and can be looked up in the other: 0.69 - 2.83 share - 1.42 E, with
      the ``share`` of it that is found, in normal form, numbers and dates in any notation (see
      :func:`~veridical.text.short_answers.short_match`), E left out where a name or figure is
      missing or all figures are others; 2 where it is negated or one of several candidates
      ("Paris or London");
    - of two statements: 2 (C - E), and 1.5 more where one is the other with words exchanged or
      moved, or where their figures differ.

    E is the larger P(entailment) of the two directions (where words are exchanged the smaller, as
    NLI models go by common words): a paraphrase that says more than the gold
    answer, or less, is right (equivalence that depends on the question: Bulian et al. 2022). C is
    the mean P(contradiction) of the two. Length plays no part. Of several references the one with
    the lowest risk counts.

    Of an answer of several sentences the one most about the reference is judged (where the notation
    tells, the last); E is the largest over all sentences and the whole answer. Any other sentence
    that exchanges words of the reference is judged too, and the answer's risk is the largest
    of those judged. The others have the answer's
    risk; they are labelled neutral where the answer does not match, and else not labelled: a
    reference need not say all that an answer may.

    ``raw`` is the risk, in [0, 1]. A judged sentence has the probability ``entailment`` of one
    minus its risk. Of the risk, the share C / (C + P(neutral)), at least 0.75 where words are
    exchanged, is ``contradiction``. Evidence is the sentence of the reference most about it. The
    weights of short answers are fitted on EfficientQA, the first 80 % by row; the others are a
    rule and fitted to nothing.

    Raises:
        NotApplicable: blank response or reference; or the NLI model does not read its script.
    """
    sentences = record.need_sentences()
    question = _question(record.prompt)
    sources = [s for s in record.against("reference") if s.text.strip()]
    if not sources:
        raise NotApplicable("the reference is empty")
    matches = [_match(evidence, question, sentences, s) for s in sources]
    pairs = [pair for m in matches for pair in m.pairs]
    judged = (await evidence.nli(pairs)).probabilities.tolist() if pairs else []
    found = []
    for m in matches:
        found.append(_settled(m, judged[: len(m.pairs)]))
        judged = judged[len(m.pairs) :]
    best = min(range(len(found)), key=lambda i: found[i].risk)
    return _score(evidence, sentences, sources[best], found[best])


def _question(prompt: str | Sequence[dict[str, Any]] | None) -> str:
    """What was asked: of a chat its last message; nothing where that holds more than a question."""
    if prompt and not isinstance(prompt, str):
        prompt = message_text(prompt[-1].get("content"))
    text = str(prompt or "").strip()
    return text if len(text) <= _LONGEST_QUESTION else ""


class _Match(NamedTuple):
    """An answer beside one reference, before the NLI model has judged them.

    Attributes:
        key: the sentence that is most about the reference.
        short: what looking up a short answer gave.
        exchanged: by sentence, whether it is the reference with words exchanged.
        pairs: what is to be judged, each text in both directions: the sentences, and of several
            the whole answer; none where that would change nothing.
    """

    key: int
    short: ShortMatch | None
    exchanged: list[bool]
    pairs: list[tuple[str, str]]


class _Settled(NamedTuple):
    """The answer's risk, and of each sentence that was judged its risk and how much of that is
    contradiction, from 0 to 1."""

    risk: float
    sentences: dict[int, tuple[float, float]]


def _match(evidence: Evidence, question: str, sentences: list[Span], source: Source) -> _Match:
    texts = [s.text for s in sentences]
    answer = " ".join(texts)
    short = short_match(question, answer, source.text)
    if short is not None and short.exact:  # an answer ends up with what is asked for
        return _Match(len(texts) - 1, short, [False] * len(texts), [])
    key = place_most_about(evidence, source.text, texts)
    exchanged = [changed(text, source.text) for text in texts]
    exchanged[key] = exchanged[key] or figures_differ(question, answer, source.text)
    if short is not None and short.denied:
        return _Match(key, short, exchanged, [])
    gold = statement(question, source.text).text
    stated = [statement(question, text).text for text in texts]
    judged = stated if len(stated) == 1 else [*stated, " ".join(stated)]
    pairs = [pair for text in judged for pair in ((text, gold), (gold, text))]
    return _Match(key, short, exchanged, pairs)


def _settled(match: _Match, judged: list[list[float]]) -> _Settled:
    """What ``match`` comes to, given the probabilities of its pairs."""
    short, key = match.short, match.key
    entailed = max((p[_ENTAILMENT] for p in judged), default=0.0)
    if short is None:
        at = [i for i, exchanged in enumerate(match.exchanged) if exchanged or i == key]
        risks = {i: _statement(judged[2 * i : 2 * i + 2], entailed, match.exchanged[i]) for i in at}
        return _Settled(max(risk for risk, _ in risks.values()), risks)
    if short.denied:
        z = _DENIED
    elif short.exact:
        z = _SURE * (1 - 2 * short.share)
    else:
        z = _CONSTANT + _SHARE * short.share + _ENTAILED * entailed * (not short.absent)
    part = 1.0 if short.denied or short.exact else _part(judged[2 * key : 2 * key + 2])
    return _Settled(_sigmoid(z), {key: (_sigmoid(z), part)})


def _statement(both: list[list[float]], entailed: float, exchanged: bool) -> tuple[float, float]:
    """Risk of a sentence, and how much of that is contradiction, by the probabilities of both its
    directions and what the answer as a whole entails."""
    contradicted = sum(p[_CONTRADICTION] for p in both) / 2
    if not exchanged:
        return _sigmoid(_NLI * (contradicted - entailed)), _part(both)
    z = _NLI * (contradicted - min(p[_ENTAILMENT] for p in both)) + _CHANGED
    return _sigmoid(z), max(_part(both), _EXCHANGED)


def _part(both: list[list[float]]) -> float:
    """P(contradiction) as a share of what is not entailment."""
    contradicted = sum(p[_CONTRADICTION] for p in both)
    total = contradicted + sum(p[_NEUTRAL] for p in both)
    return contradicted / total if total > 0 else 0.0


def _score(evidence: Evidence, sentences: list[Span], source: Source, found: _Settled) -> Score:
    units = []
    for i, sentence in enumerate(sentences):
        risk, part = found.sentences.get(i, (found.risk, 0.0))
        if i not in found.sentences:
            label = None if risk < _EVEN else LABELS[_NEUTRAL]
            units.append(Unit.of(sentence, risk, raw=risk, label=label))
            continue
        probabilities = (1 - risk, risk * (1 - part), risk * part)
        contradicted = part >= _EVEN and risk >= _EVEN
        label = LABELS[
            _ENTAILMENT if risk < _EVEN else _CONTRADICTION if contradicted else _NEUTRAL
        ]
        shown = probabilities[LABELS.index(label)]
        units.append(
            Unit.of(
                sentence,
                risk,
                raw=risk,
                label=label,
                probabilities=dict(zip(LABELS, probabilities, strict=True)),
                evidence=[sentence_most_about(evidence, sentence.text, source, shown)],
            )
        )
    return Score.of(found.risk, raw=found.risk, units=units)


def _sigmoid(z: float) -> float:
    return 1 / (1 + exp(-z))
