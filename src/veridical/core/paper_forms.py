"""Published scorer settings that differ from the defaults (``--paper-forms``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class PaperForm(NamedTuple):
    """Arguments of a scorer in a paper.

    Attributes:
        arguments: arguments that differ from the defaults.
        source: paper, and equation or section.
        differs: effect of the default.
    """

    arguments: Mapping[str, Any]
    source: str
    differs: str


#: By scorer.
PAPER_FORMS = {
    "avg_entropy": PaperForm(
        {"form": "perplexity"}, "SelfCheckGPT, eq. 13: 2^H", "the entropy H itself, in nats"
    ),
    "bsdetector": PaperForm(
        {"fences": False}, "BSDetector, figure 6b", "delimiters around what is quoted"
    ),
    "checkembed": PaperForm(
        {"judged": "samples", "stat": "frobenius"},
        "CheckEmbed, section 2 and released code",
        "the mean, over the response's own row too",
    ),
    "claims": PaperForm(
        {"checker": "nli", "merge": "any", "place": "embeddings"},
        "RefChecker, section 4.2, A.3 and B.3",
        "a quarter of the verdict by words; contradiction from the passage most about the claim; "
        "places in the response by words",
    ),
    "judge": PaperForm(
        {"form": "published"},
        "UQLM, eq. 14; CheckEmbed, B.1; Mirage, A.3",
        "JSON is requested, and token probabilities are read",
    ),
    "max_entropy": PaperForm(
        {"form": "perplexity"}, "SelfCheckGPT, eq. 13: 2^H", "the entropy H itself, in nats"
    ),
    "ngram": PaperForm(
        {"counting": "paper"}, "SelfCheckGPT, eq. 7-8", "the response is left out of the counts"
    ),
    "noncontradiction": PaperForm(
        {"texts": "plain"}, "UQLM, eq. 5-6", "short texts are judged with their question"
    ),
    "selfcheck_nli": PaperForm(
        {"order": "code", "texts": "plain"},
        "SelfCheckGPT, eq. 9-10; the released code's order, on which the figures rest",
        "the sample is the premise; short texts are judged with their question",
    ),
    "selfcheck_prompt": PaperForm(
        {"form": "published", "unclear": "half"},
        "SelfCheckGPT, eq. 11: N/A is one half",
        "unclear verdicts are left out, and token probabilities are read",
    ),
    "semantic_negentropy": PaperForm(
        {"form": "paper"}, "UQLM, eq. 8: divided by log m", "divided by log(m + 1)"
    ),
}
