"""Methods that compare the response with other answers to the same prompt."""

from veridical.scorers.consistency import (  # noqa: F401  (importing registers them)
    bert_score,
    checkembed,
    cosine,
    exact_match,
    ngram,
    selfcheck_bertscore,
)
