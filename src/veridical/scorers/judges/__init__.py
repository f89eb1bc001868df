"""Methods that ask a language model."""

from veridical.scorers.judges import (  # noqa: F401  (importing registers them)
    bsdetector,
    g_eval,
    gpt_score,
    judge,
    panel,
    selfcheck_prompt,
    selfcheck_qa,
    verbalized,
)
