"""Locations and presets of the built-in scorers.

Importing one scorer imports no other. ``tests/test_builtin_scorers.py`` compares the table with the
declarations.
"""

from __future__ import annotations

_ALL = frozenset({"all"})
_AUTO = frozenset({"all", "auto"})
_FAST = frozenset({"all", "fast"})
_BOTH = frozenset({"all", "auto", "fast"})
_NONE: frozenset[str] = frozenset()

#: Place below ``veridical`` and presets by name; presets list their scorers in this order.
_TABLE = {
    "bert_score": ("scorers.consistency.bert_score:bert_score", _ALL),
    "checkembed": ("scorers.consistency.checkembed:checkembed", _ALL),
    "claim_frequency": ("scorers.consistency.claim_samples:claim_frequency", _NONE),
    "claim_graph": ("scorers.consistency.claim_samples:claim_graph", _NONE),
    "claim_qa": ("scorers.consistency.claim_qa:claim_qa", _NONE),
    "cluster_probability": (
        "scorers.consistency.semantic_entropy:cluster_probability",
        _NONE,
    ),
    "cosine": ("scorers.consistency.cosine:cosine", _ALL),
    "degree": ("scorers.consistency.spectral:degree", _ALL),
    "eccentricity": ("scorers.consistency.spectral:eccentricity", _ALL),
    "eigv": ("scorers.consistency.spectral:eigv", _ALL),
    "entailment": ("scorers.consistency.pairwise_nli:entailment", _AUTO),
    "exact_match": ("scorers.consistency.exact_match:exact_match", _FAST),
    "halocheck": ("scorers.consistency.halocheck:halocheck", _NONE),
    "kle": ("scorers.consistency.spectral:kle", _ALL),
    "luq": ("scorers.consistency.luq:luq", _ALL),
    "matched_unit": ("scorers.consistency.luq:matched_unit", _ALL),
    "ngram": ("scorers.consistency.ngram:ngram", _FAST),
    "ngram_presence": ("scorers.consistency.ngram:ngram_presence", _FAST),
    "noncontradiction": ("scorers.consistency.pairwise_nli:noncontradiction", _ALL),
    "selfcheck_bertscore": ("scorers.consistency.selfcheck_bertscore:selfcheck_bertscore", _ALL),
    "selfcheck_nli": ("scorers.consistency.selfcheck_nli:selfcheck_nli", _AUTO),
    "semantic_density": ("scorers.consistency.semantic_density:semantic_density", _ALL),
    "semantic_entropy": ("scorers.consistency.semantic_entropy:semantic_entropy", _ALL),
    "semantic_negentropy": ("scorers.consistency.semantic_entropy:semantic_negentropy", _ALL),
    "semantic_sets": ("scorers.consistency.semantic_entropy:semantic_sets", _ALL),
    "snne": ("scorers.consistency.snne:snne", _NONE),
    "alignscore": ("scorers.grounding.published_checkers:alignscore", _NONE),
    "actions": ("scorers.grounding.actions:actions", _ALL),
    "answer_relevancy": ("scorers.grounding.answer_relevancy:answer_relevancy", _ALL),
    "citations": ("scorers.grounding.citations:citations", _ALL),
    "claims": ("scorers.grounding.claims:claims", _AUTO),
    "context_precision": ("scorers.grounding.context_precision:context_precision", _ALL),
    "context_recall": ("scorers.grounding.context_recall:context_recall", _ALL),
    "critic": ("scorers.grounding.published_checkers:critic", _NONE),
    "factool": ("scorers.grounding.factool:factool", _NONE),
    "factscore": ("scorers.grounding.factscore:factscore", _NONE),
    "factual_correctness": ("scorers.grounding.factual_correctness:factual_correctness", _ALL),
    "hhem": ("scorers.grounding.published_checkers:hhem", _NONE),
    "knowledge_bertscore": ("scorers.grounding.knowledge_bertscore:knowledge_bertscore", _ALL),
    "knowledge_f1": ("scorers.grounding.knowledge_f1:knowledge_f1", _FAST),
    "knowledge_precision": (
        "scorers.grounding.knowledge_precision:knowledge_precision",
        _AUTO,
    ),
    "minicheck": ("scorers.grounding.published_checkers:minicheck", _NONE),
    "nli_grounding": ("scorers.grounding.nli_grounding:nli_grounding", _AUTO),
    "spans": ("scorers.grounding.spans:spans", _ALL),
    "reference_match": ("scorers.grounding.reference_match:reference_match", _AUTO),
    "rouge_l": ("scorers.grounding.rouge_l:rouge_l", _ALL),
    "sacrebleu": ("scorers.grounding.sacre_bleu:sacrebleu", _ALL),
    "summac_zs": ("scorers.grounding.summac_zs:summac_zs", _ALL),
    "support": ("scorers.grounding.support:support", _BOTH),
    "tool_calls": ("scorers.grounding.tool_calls:tool_calls", _ALL),
    "turns": ("scorers.grounding.turns:turns", _ALL),
    "avg_entropy": ("scorers.probability.token_alternatives:avg_entropy", _ALL),
    "avg_logprob": ("scorers.probability.token_probabilities:avg_logprob", _AUTO),
    "sequence_probability": (
        "scorers.probability.token_probabilities:sequence_probability",
        _ALL,
    ),
    "boosted_prob": ("scorers.probability.token_alternatives:boosted_prob", _NONE),
    "ccp": ("scorers.probability.ccp:ccp", _NONE),
    "ces": ("scorers.probability.ces:ces", _NONE),
    "cocoa": ("scorers.probability.cocoa:cocoa", _ALL),
    "explained_surprisal": ("scorers.probability.explained_surprisal:explained_surprisal", _NONE),
    "first_token_entropy": (
        "scorers.probability.first_token_entropy:first_token_entropy",
        _NONE,
    ),
    "max_entropy": ("scorers.probability.token_alternatives:max_entropy", _ALL),
    "max_logprob": ("scorers.probability.token_probabilities:max_logprob", _ALL),
    "min_probability": ("scorers.probability.token_probabilities:min_probability", _AUTO),
    "monte_carlo_probability": (
        "scorers.probability.token_probabilities:monte_carlo_probability",
        _ALL,
    ),
    "p_true": ("scorers.probability.p_true:p_true", _ALL),
    "perplexity": ("scorers.probability.token_probabilities:perplexity", _ALL),
    "probability_margin": ("scorers.probability.token_alternatives:probability_margin", _ALL),
    "token_negentropy": ("scorers.probability.token_alternatives:token_negentropy", _ALL),
    "sar": ("scorers.probability.sar:sar", _NONE),
    "self_certainty": ("scorers.probability.token_alternatives:self_certainty", _NONE),
    "token_sar": ("scorers.probability.sar:token_sar", _NONE),
    "bsdetector": ("scorers.judges.bsdetector:bsdetector", _ALL),
    "cluster_choice": ("scorers.judges.cluster_choice:cluster_choice", _NONE),
    "g_eval": ("scorers.judges.g_eval:g_eval", _NONE),
    "gpt_score": ("scorers.judges.gpt_score:gpt_score", _NONE),
    "judge": ("scorers.judges.judge:judge", _ALL),
    "panel": ("scorers.judges.panel:panel", _NONE),
    "selfcheck_prompt": ("scorers.judges.selfcheck_prompt:selfcheck_prompt", _NONE),
    "selfcheck_qa": ("scorers.judges.selfcheck_qa:selfcheck_qa", _NONE),
    "statement_judge": ("scorers.judges.statement_judge:statement_judge", _AUTO),
    "verbalized": ("scorers.judges.verbalized:verbalized", _ALL),
    "ensemble": ("ensembles.scorers.ensemble:ensemble", _AUTO),
    "cascade": ("ensembles.scorers.cascade:cascade", _NONE),
    "famd": ("ensembles.scorers.famd:famd", _NONE),
}

#: Members of presets that always require an LLM: without one they are not imported.
_ASKING = frozenset({"bsdetector", "judge", "p_true", "statement_judge", "verbalized"})
#: By name: ``"module:function"``, presets, and True for scorers in ``_ASKING``.
BUILTIN = {
    name: (f"veridical.{place}", presets, name in _ASKING)
    for name, (place, presets) in _TABLE.items()
}
