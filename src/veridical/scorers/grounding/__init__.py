"""Methods that compare the response with what it must be grounded in."""

from veridical.scorers.grounding import (  # noqa: F401  (importing registers them)
    knowledge_bertscore,
    knowledge_f1,
    nli_grounding,
    rouge_l,
    sacre_bleu,
    summac_zs,
    support,
)
