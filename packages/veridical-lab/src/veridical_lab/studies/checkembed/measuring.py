"""Figures of the studies from the scores of their records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from veridical.arrays import Floats
from veridical.core.scores import Score
from veridical.stats.metrics.correlation import spearman
from veridical.stats.metrics.ranking import auroc
from veridical.stats.resampling import Resampler, interval
from veridical_lab.studies.checkembed.asks import Ask, Chunk
from veridical_lab.studies.checkembed.generating import Written
from veridical_lab.studies.checkembed.replies import found_terms, term_names
from veridical_lab.studies.checkembed.result import Separation, Summary, TermScore, Trend, Value

#: Resamples of topics behind each interval.
REPLICATES = 1000
#: Keys of ``raw`` that hold a scorer's similarity of the response to the other texts.
_RAW = {"checkembed": "response", "bert_score": "value", "cosine": "value"}


def similarity(scorer: str, score: Score) -> float:
    """Return the similarity that a score expresses.

    CheckEmbed's mean cosine and BERTScore's F1 are used directly; other scorers give 1 - risk, as
    the paper inverts SelfCheckGPT.
    """
    key = _RAW.get(scorer.partition("(")[0])
    if key is not None and isinstance(score.raw, Mapping) and score.raw.get(key) is not None:
        return float(score.raw[key])
    assert score.risk is not None
    return 1 - score.risk


def values_of(asks: Iterable[Ask], scores: Mapping[str, Mapping[str, Score]]) -> list[Value]:
    """Return a value for each request and scorer with a score.

    Args:
        scores: by the request's id and the scorer's name.
    """
    return [
        Value(
            study=ask.study,
            kind=ask.kind,
            topic=ask.topic,
            level=ask.level,
            draw=ask.draw,
            scorer=scorer,
            value=similarity(scorer, score),
        )
        for ask in asks
        for scorer, score in scores.get(ask.id, {}).items()
        if score.status == "scored"
    ]


def summaries_of(values: Sequence[Value]) -> list[Summary]:
    """Return a summary of each kind, level and scorer."""
    groups: dict[tuple[str, str, int, str], list[Value]] = {}
    for v in values:
        groups.setdefault((v.study, v.kind, v.level, v.scorer), []).append(v)
    return [_summary(key, of_key) for key, of_key in groups.items()]


def _summary(key: tuple[str, str, int, str], values: Sequence[Value]) -> Summary:
    study, kind, level, scorer = key
    x = np.array([v.value for v in values])
    resampler = Resampler(_topics(values), REPLICATES, 0)
    means = [weights @ x / weights.sum(axis=1) for weights in resampler.chunks()]
    ci_low, ci_high = interval(np.concatenate([np.empty(0), *means]))
    low, q1, median, q3, high = np.quantile(x, [0, 0.25, 0.5, 0.75, 1]).tolist()
    return Summary(
        study=study,
        kind=kind,
        level=level,
        scorer=scorer,
        n=len(x),
        mean=float(x.mean()),
        std=float(x.std()),
        low=low,
        q1=q1,
        median=median,
        q3=q3,
        high=high,
        ci_low=ci_low,
        ci_high=ci_high,
    )


def pair_separations(values: Sequence[Value]) -> list[Separation]:
    """Measure the separation of similar and different pairs, by detail and in all."""
    made = []
    of_pairs = [v for v in values if v.study == "pairs"]
    details = list(dict.fromkeys(v.kind.partition(", ")[2] for v in of_pairs))
    for detail in (*details, *(["all"] if len(details) > 1 else [])):
        chosen = [v for v in of_pairs if detail in ("all", v.kind.partition(", ")[2])]
        for scorer in dict.fromkeys(v.scorer for v in chosen):
            of_scorer = [v for v in chosen if v.scorer == scorer]
            similar = [v for v in of_scorer if v.kind.startswith("similar")]
            different = [v for v in of_scorer if v.kind.startswith("different")]
            if similar and different:
                made.append(_separation("pairs", detail, 0, scorer, similar, different))
    return made


def level_separations(values: Sequence[Value], study: str) -> list[Separation]:
    """Measure the separation of error-free items from each number of errors.

    For the studies ``errors`` and ``counting``.
    """
    made = []
    of_errors = [v for v in values if v.study == study]
    for kind, scorer in dict.fromkeys((v.kind, v.scorer) for v in of_errors):
        chosen = [v for v in of_errors if (v.kind, v.scorer) == (kind, scorer)]
        right = [v for v in chosen if v.level == 0]
        for level in sorted({v.level for v in chosen} - {0}):
            wrong = [v for v in chosen if v.level == level]
            if right:
                made.append(_separation(study, kind, level, scorer, right, wrong))
    return made


def single_separations(right: Sequence[Value], wrong: Sequence[Value]) -> list[Separation]:
    """Measure the separation of right and wrong images of a prompt, by the number of wrong ones."""
    return [
        _separation(of[0].study, "all numbers", level, scorer, of, among)
        for scorer, level in dict.fromkeys((v.scorer, v.level) for v in right)
        if (of := [v for v in right if (v.scorer, v.level) == (scorer, level)])
        and (among := [v for v in wrong if (v.scorer, v.level) == (scorer, level)])
    ]


def trends_of(values: Sequence[Value], study: str) -> list[Trend]:
    """Measure the decrease of similarity with the number of errors."""
    made = []
    of_errors = [v for v in values if v.study == study]
    for kind, scorer in dict.fromkeys((v.kind, v.scorer) for v in of_errors):
        chosen = [v for v in of_errors if (v.kind, v.scorer) == (kind, scorer)]
        x = np.array([float(v.level) for v in chosen])
        y = np.array([v.value for v in chosen])
        replicates = [
            np.asarray(spearman(x, y, weights))
            for weights in Resampler(_topics(chosen), REPLICATES, 0).chunks()
        ]
        low, high = interval(np.concatenate([np.empty(0), *replicates]))
        value = float(spearman(x, y))
        made.append(
            Trend(
                study=study,
                kind=kind,
                scorer=scorer,
                spearman=None if np.isnan(value) else value,
                ci_low=low,
                ci_high=high,
                apart_from=_apart_from(x, y),
                n=len(chosen),
            )
        )
    return made


def _apart_from(levels: Floats, values: Floats) -> int | None:
    """Return the fewest errors from which every passage is below all those without errors."""
    right = values[levels == 0]
    if not len(right):
        return None
    first = None
    for level in sorted(set(levels[levels > 0].tolist()), reverse=True):
        if values[levels == level].max() >= right.min():
            break
        first = int(level)
    return first


def term_scores(written: Sequence[Written], chunks: Mapping[str, Chunk]) -> list[TermScore]:
    """Compute precision and recall of the terms of each chunk."""
    by_chunk: dict[str, list[Written]] = {}
    for w in written:
        if w.texts:
            by_chunk.setdefault(w.ask.topic, []).append(w)
    made = []
    for name, replies in by_chunk.items():
        expected = chunks[name].terms
        extracted = [term_names(w.texts[0]) for w in replies]
        figures = np.array([found_terms(names, expected) for names in extracted]).mean(axis=0)
        precision, recall, f1 = figures.tolist() if expected else (None, None, None)
        made.append(
            TermScore(
                topic=name,
                n=len(replies),
                expected=len(expected),
                extracted=float(np.mean([len(names) for names in extracted])),
                precision=precision,
                recall=recall,
                f1=f1,
            )
        )
    return made


def _separation(
    study: str,
    kind: str,
    level: int,
    scorer: str,
    similar: Sequence[Value],
    different: Sequence[Value],
) -> Separation:
    both = [*similar, *different]
    truth = np.array([1.0] * len(similar) + [0.0] * len(different))
    score = np.array([v.value for v in both])
    replicates = [
        np.asarray(auroc(truth, score, weights))
        for weights in Resampler(_topics(both), REPLICATES, 0).chunks()
    ]
    low, high = interval(np.concatenate([np.empty(0), *replicates]))
    return Separation(
        study=study,
        kind=kind,
        level=level,
        scorer=scorer,
        auroc=float(auroc(truth, score)),
        ci_low=low,
        ci_high=high,
        overlap=_overlap(score[truth == 1], score[truth == 0]),
        n_similar=len(similar),
        n_different=len(different),
    )


def _overlap(a: Floats, b: Floats) -> float:
    """Return the share of all values in the range that both samples have."""
    low, high = max(a.min(), b.min()), min(a.max(), b.max())
    if low > high:
        return 0.0
    both = np.concatenate([a, b])
    return float(np.mean((both >= low) & (both <= high)))


def _topics(values: Sequence[Value]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the number of each value's topic, the unit of resampling.

    A pair's topic is its first thing, so that similar and different pairs of one thing are
    resampled together.
    """
    names = [f"{v.kind.partition(', ')[2]}:{v.topic.partition(' / ')[0]}" for v in values]
    place = {name: i for i, name in enumerate(dict.fromkeys(names))}
    return np.array([place[name] for name in names], dtype=np.int64)
