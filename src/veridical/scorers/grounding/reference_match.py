"""Reference match: equivalence of the answer with a gold answer."""

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

#: Weights of a short answer's share and of entailment, and the intercept. They are from a logistic
#: regression on the first 80 % of EfficientQA's graded predictions (Min et al. 2021).
_SHARE, _ENTAILED, _CONSTANT = -2.83, -1.42, 0.69
#: The fixed rule for statements.
_NLI, _CHANGED = 2.0, 1.5
#: Logits if the notation decides equality, and if the answer is found but negated.
_SURE, _DENIED = 3.0, 2.0
_LONGEST_QUESTION = 1_000  # characters; a longer prompt is more than a question
_EVEN = 0.5
_EXCHANGED = 0.75  # share of contradiction in the risk of exchanged words
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
    """Estimate the risk that the answer and a gold answer differ in meaning.

    A short answer is combined with its question into a statement (see
    :func:`~veridical.text.statements.statement`). The risk against one reference is 1 / (1 +
    exp(-z)), where z is

    - if the notation of both decides, -3 if they are the same, else 3. This applies to numbers with
      units, dates, times, options, yes and no, lists, JSON and expressions (see
      :func:`~veridical.text.values.answers.same_answer`);
    - if one text is short and can be looked up in the other: 0.69 - 2.83 share - 1.42 E. ``share``
      is the part of it that is found in normal form (see
      :func:`~veridical.text.short_answers.short_match`). E is omitted if a name or figure is
      missing or all figures differ. If it is negated or one of several candidates ("Paris
      or London"), z is 2;
    - for two statements: 2 (C - E), plus 1.5 if one is the other with words exchanged or moved, or
      if their figures differ.

    E is the larger P(entailment) of the two directions. So a paraphrase that says more or less than
    the gold answer is right (question-dependent equivalence, Bulian et al. 2022). If words are
    exchanged E is the smaller one, as NLI models rely on common words. C is the mean
    P(contradiction) of both directions. Length has no effect. Of several references the one with
    the lowest risk counts.

    In an answer of several sentences the one closest to the reference is judged (the last one if
    the notation decides). E is the maximum over all sentences and the whole answer. Any other
    sentence that exchanges words of the reference is judged too. The answer's risk is the maximum
    of those judged. The other sentences take the answer's risk. They are labelled neutral if the
    answer does not match, else not labelled, as a correct answer may say more than the reference.

    ``raw`` is the risk, in [0, 1]. A judged sentence has the probability ``entailment`` of one
    minus its risk. ``contradiction`` is the share C / (C + P(neutral)) of the risk, at least 0.75
    if words are exchanged. Evidence is the closest sentence of the reference. The weights of short
    answers are fitted on the first 80 % of EfficientQA's rows; the others are fixed by rule, not
    fitted.

    Raises:
        NotApplicable: the response or the reference is blank, or the NLI model does not support its
            script.
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
    """Return the question: the last message of a chat; empty if that is more than a question."""
    if prompt and not isinstance(prompt, str):
        prompt = message_text(prompt[-1].get("content"))
    text = str(prompt or "").strip()
    return text if len(text) <= _LONGEST_QUESTION else ""


class _Match(NamedTuple):
    """An answer and one reference, before the NLI model judges them.

    Attributes:
        key: the sentence closest to the reference.
        short: result of looking up a short answer.
        exchanged: for each sentence, True if it is the reference with words exchanged.
        pairs: pairs to judge, each text in both directions: the sentences and, if there are
            several, the whole answer. It is empty if the result would not change.
    """

    key: int
    short: ShortMatch | None
    exchanged: list[bool]
    pairs: list[tuple[str, str]]


class _Settled(NamedTuple):
    """The answer's risk, and the risk and share of contradiction of each judged sentence."""

    risk: float
    sentences: dict[int, tuple[float, float]]


def _match(evidence: Evidence, question: str, sentences: list[Span], source: Source) -> _Match:
    texts = [s.text for s in sentences]
    answer = " ".join(texts)
    short = short_match(question, answer, source.text)
    if short is not None and short.exact:  # the requested value comes last in an answer
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
    """Compute the result of ``match`` from the probabilities of its pairs."""
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
    """Return a sentence's risk and its share of contradiction.

    ``both`` has the probabilities of both directions, ``entailed`` that of the whole answer.
    """
    contradicted = sum(p[_CONTRADICTION] for p in both) / 2
    if not exchanged:
        return _sigmoid(_NLI * (contradicted - entailed)), _part(both)
    z = _NLI * (contradicted - min(p[_ENTAILMENT] for p in both)) + _CHANGED
    return _sigmoid(z), max(_part(both), _EXCHANGED)


def _part(both: list[list[float]]) -> float:
    """Return P(contradiction) as a share of 1 - P(entailment)."""
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
