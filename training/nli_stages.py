"""Training stages of ``nli_train.py``: mixtures of sources and loss weights."""

from __future__ import annotations

from dataclasses import dataclass, replace

#: The rows of ``nli_pairs.py``, typed edits apart, and those of ``typed_pairs.py``,
#: ``bound_pairs.py`` and ``document_pairs.py``.
GENERATED, TYPED, EDITED, BOUND = "generated", "typed", "edited", "bound"
DOCUMENTS, WRITTEN, LONG = "documents", "written", "written_long"


@dataclass(frozen=True)
class Stage:
    """One round of training.

    ``mixture`` is the share of each source's rows that one epoch sees. Automatic and templated
    sources are thinned, as whole they outweigh human text and cost accuracy on it. ``forced``
    weighs the loss of entailment against contradiction. The share ``joined`` of the generated rows
    gets a premise joined with other rows' premises, in random order. The joined premise has a
    random number of words not above ``premise_words``; the label stays. ``kept`` is the weight of
    the initial model in the average of initial and final one (WiSE-FT, Wortsman et al. 2022).
    ``words`` weighs the loss of wrong words. ``batch_tokens`` is the maximum of padded tokens in a
    batch.
    """

    mixture: dict[str, float]
    peak_rate: float
    forced: float
    joined: float
    premise_words: int
    kept: float
    words: float
    batch_tokens: int


STAGES = {
    "base": Stage(
        {
            "snli_pieces_train": 0.8,
            "cad_snli_train": 0.4,
            "lingnli_train": 0.7,
            "taxinli_train": 1.0,
            "fever_rte_train": 0.4,
            "fm2_train": 1.0,
            "ambient_train": 0.4,
            "negation_train": 1.0,
            "wice_train": 0.5,
            "scifact_train": 1.0,
            "summedits_train": 0.25,
            "vitaminc_piece_train": 1.0,
            "conjnli_auto_train": 0.08,
            "breaking_nli_train": 0.15,
            "hans_auto_train": 0.04,
            "help_and": 0.05,
            "help_or": 0.5,
            "med": 0.15,
            GENERATED: 0.05,
            TYPED: 0.2,
        },
        peak_rate=4e-5,
        forced=0.3,
        joined=0.3,
        premise_words=150,
        kept=0.0,
        words=0.5,
        batch_tokens=2048,  # more steps from the same tokens
    ),
}


#: Facts stated of the wrong thing, and as much of the other sources as is needed to keep them.
STAGES["bound"] = replace(
    STAGES["base"],
    mixture={
        "snli_pieces_train": 0.35,
        "cad_snli_train": 0.4,
        "lingnli_train": 0.5,
        "taxinli_train": 0.5,
        "fever_rte_train": 0.2,
        "fm2_train": 0.7,
        "ambient_train": 0.3,
        "negation_train": 0.7,
        "wice_train": 0.3,
        "scifact_train": 0.5,
        "summedits_train": 0.1,
        "vitaminc_piece_train": 1.0,
        "conjnli_auto_train": 0.05,
        "breaking_nli_train": 0.08,
        "hans_auto_train": 0.12,
        "help_and": 0.04,
        "help_or": 0.3,
        "med": 0.2,
        GENERATED: 0.03,
        TYPED: 0.08,
        EDITED: 0.5,
        BOUND: 0.6,
    },
    peak_rate=2.5e-5,
    kept=0.3,  # of 0, 0.3, 0.5 and 0.7 the least loss on cad_snli_dev and LingNLI's dev part
)

#: Written documents, others of many kinds, and of the rest as much as keeps it. Most rows are long
#: sentences: they carry over to unseen answers.
STAGES["documents"] = replace(
    STAGES["bound"],
    mixture={name: share * 0.2 for name, share in STAGES["bound"].mixture.items()}
    | {DOCUMENTS: 0.3, WRITTEN: 0.4, LONG: 1.0},
    peak_rate=8e-5,
)
