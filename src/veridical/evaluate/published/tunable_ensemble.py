"""Bouchard & Chauhan 2025, the tunable ensemble (UQLM)."""

from __future__ import annotations

from veridical.evaluate.published.table import Entry, Note

PAPER = "Tunable ensemble"

ENTRIES = (
    Entry(
        "Tunable ensemble table 1, figures 1 and 2",
        "Precision, recall and F1 of the ensemble, BSDetector and semantic entropy",
        "CSQA, AI2-ARC, PopQA, NQ-Open, SVAMP, GSM8K, answered by gpt-3.5-16k and gemini-1.0-pro",
        "not possible",
        reason="proprietary models; the answers, samples and labels are not published. The "
        "weights and thresholds were tuned on the items that are reported on besides",
    ),
)

NOTES: tuple[Note, ...] = ()
