"""SelfCheckGPT with BERTScore (Manakul et al. 2023, eq. 1)."""

from __future__ import annotations

from veridical.core.evidence import Evidence
from veridical.core.records import Against, Record, Source
from veridical.core.registry import scorer
from veridical.core.scores import Score, Unit
from veridical.engine.greedy_matching import f1
from veridical.scorers.consistency._sentence_matches import SourceSentences
from veridical.scorers.consistency.bert_score import Baseline, rescaled, risk_of
from veridical.text.spans import Span

_LONGER_THAN = 3  # words; shorter sentences ("He died.") match anything (as published)


@scorer(
    "selfcheck_bertscore",
    level="sentence",
    needs={"against"},
    source="Manakul 2023, eq. 1",
    cost="tokens",
    raw_is="risk",
    presets={"all"},
)
async def selfcheck_bertscore(
    record: Record,
    evidence: Evidence,
    *,
    baseline: Baseline | None = None,
    against: Against = "samples",
) -> Score:
    """Compute 1 - the mean over samples of a sentence's best BERTScore F1 in the sample.

    Sample sentences of at most 3 words are dropped, as published. A sample with only such sentences
    (a short answer, where the published code fails) keeps them.

    Args:
        baseline: rescaling of F1, as in ``bert_score``. The paper uses 0.8312 for roberta-large, so
            that scores spread over [0, 1].
        against: source that the sentences are compared with. Values are averaged over samples; for
            several contexts or references the best one counts, as one supporting source is enough.

    The response's ``raw`` is the mean over sentences, as published. Without a baseline the risk
    is the raw value; with one, ``(1 - baseline) * raw``, as rescaled values may exceed 1.
    """
    sentences = record.need_sentences()
    sources = record.against(against)
    candidates = SourceSentences(sources, [_sentences(s, evidence) for s in sources])
    p, r = await evidence.bertscore([s.text for s in sentences], candidates.distinct)
    similarity = f1(p, r).round(6)  # before ranking, so that rounding noise is not ranked
    best, where = candidates.best(similarity)
    agreement = best.mean(axis=1) if against == "samples" else best.max(axis=1)
    raw = 1 - rescaled(agreement, baseline)
    units = [
        Unit.of(
            sentence,
            risk_of(float(agreement[i])),
            raw=float(raw[i]),
            evidence=candidates.nearest(best[i], where[i]),
        )
        for i, sentence in enumerate(sentences)
    ]
    return Score.of(risk_of(float(agreement.mean())), raw=float(raw.mean()), units=units)


def _sentences(source: Source, evidence: Evidence) -> list[Span]:
    """Return the sentences of more than three words, else all sentences, else the whole text."""
    spans = source.sentences()
    return [s for s in spans if len(evidence.words(s.text)) > _LONGER_THAN] or spans
