"""Methods that compare the response with other answers to the same prompt."""

from veridical.scorers.consistency import (  # noqa: F401  (importing registers them)
    bert_score,
    checkembed,
    cosine,
    degree,
    eccentricity,
    eigv,
    entailment,
    exact_match,
    halocheck,
    kle,
    luq,
    matched_unit,
    ngram,
    noncontradiction,
    selfcheck_bertscore,
    selfcheck_nli,
    semantic_density,
    semantic_entropy,
    semantic_negentropy,
    semantic_sets,
)
