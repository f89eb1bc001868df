"""Methods that read the probabilities of the response's tokens."""

from veridical.scorers.probability import (  # noqa: F401  (importing registers them)
    avg_entropy,
    avg_logprob,
    cocoa,
    explained_surprisal,
    halludetect,
    max_entropy,
    max_logprob,
    min_probability,
    monte_carlo_probability,
    p_true,
    perplexity,
    probability_margin,
    sequence_probability,
    token_negentropy,
)
