"""Methods that compare the response with what it must be grounded in."""

from veridical.scorers.grounding import (  # noqa: F401  (importing registers them)
    alignscore,
    bart_score,
    bleurt,
    claims,
    critic,
    factool,
    factscore,
    hhem,
    knowledge_bertscore,
    knowledge_f1,
    minicheck,
    nli_grounding,
    prism,
    q2,
    rouge_l,
    sacre_bleu,
    summac_zs,
    support,
    unieval,
)
