"""Hu et al. 2024, RefChecker: 10 733 claims of 2 100 responses, labelled by people."""

from __future__ import annotations

from veridical.evaluate.published.table import Entry, Figure, Note, by_split

PAPER = "RefChecker"
_DATA = "RefChecker's human annotations: 10 733 claim triplets, 3 settings, 7 models"
SPLITS = ("zero_context", "noisy_context", "accurate_context")

#: Table 5: accuracy by setting (zero, noisy, accurate context).
TABLE_5 = {
    "RoBERTa-NLI": (0.7406, 0.7836, 0.7727),
    "AlignScore": (0.7340, 0.7886, 0.8430),
    "GPT-4": (0.6746, 0.7667, 0.8017),
    "Claude 2": (0.4342, 0.4035, 0.7218),
    "Mistral zero-shot": (0.7083, 0.7175, 0.6572),
    "Mistral 1-shot": (0.6544, 0.8123, 0.8338),
    "LoRA-sft-n4000": (0.7743, 0.7921, 0.7689),
    "RepC-LE-svm-n1000-e1000": (0.7798, 0.7956, 0.7954),
    "RepC-LE-nn-n2000-e2000": (0.7523, 0.8208, 0.8650),
}

#: Table 9: claims by setting, and how many of those of the first are Neutral, its largest class.
CLAIMS = (3319, 3420, 3994)
NEUTRAL_ZERO_CONTEXT = 1818

ENTRIES = (
    Entry(
        "RefChecker table 9, label counts",
        "Claims in each setting; the share of the largest class where the table gives it",
        _DATA,
        "regenerated",
        command="veridical bench refchecker --data DATA/refchecker",
        reason="the table counts the Neutral labels only, the largest class of zero context; the "
        "predictions it breaks down are Claude 2's, proprietary",
        figures=(
            *by_split("refchecker", "n_total", "", zip(SPLITS, CLAIMS, strict=True)),
            Figure(
                "refchecker",
                "zero_context",
                "accuracy",
                "majority",
                round(NEUTRAL_ZERO_CONTEXT / CLAIMS[0], 6),
            ),
        ),
    ),
    Entry(
        "RefChecker tables 5, 7, 8, RoBERTa-NLI, AlignScore and RepC rows",
        "Three-way checking of claims against references",
        _DATA,
        "not possible",
        reason="the references (Natural Questions, MS MARCO, Dolly) are not distributed with the "
        "labels; whoever has them also needs the scorers claims and alignscore, not in this "
        "version",
    ),
    Entry(
        "RefChecker tables 5, 7, 8, GPT-4 and Claude 2 rows",
        "Three-way checking of claims by proprietary models",
        _DATA,
        "not possible",
        reason="proprietary models; their labels are not published",
    ),
    Entry(
        "RefChecker tables 2 and 10 to 12",
        "Whole pipelines against other systems, by response",
        _DATA,
        "not possible",
        reason="the references are not distributed with the labels, and most rows rest on "
        "proprietary extractors or checkers",
    ),
    Entry(
        "RefChecker tables 3 and 4",
        "Quality of claim extraction",
        "responses of the benchmark",
        "not possible",
        reason="judged by GPT-4 Turbo and by people; the judgements are not published",
    ),
    Entry(
        "RefChecker table 13",
        "Pipelines on WikiBio-GPT3, 237 passages",
        "WikiBio-GPT3",
        "named model",
        reason="needs the scorer claims, not in this version; the open rows take a 7-billion "
        "extractor besides",
    ),
    Entry(
        "RefChecker tables 14 to 16",
        "What checkers say when the reference is withheld",
        "triplets and questions",
        "not possible",
        reason="proprietary checkers; the triplets and predictions are not published",
    ),
)

NOTES = tuple(
    Note(
        "refchecker",
        f"less accurate than this row: {below} of the 9 checkers of the paper's table 5",
        splits=(split,),
        metrics=("accuracy",),
        scorers=("majority",),
    )
    for split, below in (("noisy_context", 8), ("accurate_context", 7), ("zero_context", 1))
)
