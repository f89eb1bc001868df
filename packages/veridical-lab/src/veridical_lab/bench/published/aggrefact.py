"""Balanced accuracies published for LLM-AggreFact (Tang, Laban and Durrett 2024).

From the benchmark's leaderboard (llm-aggrefact.github.io, ``src/app/data.tsx`` at eba04fb,
8 September 2025): test rows, each system at its own fixed threshold. The average is over the
eleven sets.
"""

from __future__ import annotations

from collections.abc import Collection

SOURCE = "llm-aggrefact.github.io at eba04fb, 2025-09-08"

#: The sets' names in the column ``dataset``, in the leaderboard's order.
SETS = (
    *("AggreFact-CNN", "AggreFact-XSum", "TofuEval-MediaS", "TofuEval-MeetB", "Wice", "Reveal"),
    *("ClaimVerify", "FactCheck-GPT", "ExpertQA", "Lfqa", "RAGTruth"),
)

#: Percent on each set, in the order of :data:`SETS`.
SYSTEMS: dict[str, tuple[float, ...]] = {
    "Bespoke-MiniCheck (7B)": (
        *(65.5, 77.8, 76.0, 78.3, 83.0, 88.0, 75.3, 77.7, 59.2, 86.7, 84.0),
    ),
    "Claude-3.5 Sonnet": (67.6, 75.1, 73.4, 84.6, 77.7, 89.1, 71.4, 77.8, 60.9, 85.6, 86.1),
    "Granite Guardian 3.3 (8B)": (
        *(67.0, 74.9, 74.0, 78.6, 76.6, 89.6, 75.9, 76.1, 59.6, 86.9, 82.2),
    ),
    "FactCG-DeBERTa-L (0.4B)": (
        *(70.1, 73.9, 72.3, 74.3, 74.2, 88.4, 78.5, 72.1, 59.1, 86.7, 82.3),
    ),
    "MiniCheck-Flan-T5-L (0.8B)": (
        *(69.9, 74.3, 73.6, 77.3, 72.2, 86.2, 74.6, 74.7, 59.0, 85.2, 78.0),
    ),
    "MiniCheck-RoBERTa-L (0.4B)": (
        *(63.7, 70.8, 71.9, 75.9, 67.6, 88.8, 77.4, 73.3, 57.4, 84.4, 77.2),
    ),
    "HHEM-2.1-Open (0.1B)": (62.8, 67.8, 67.2, 71.0, 75.9, 86.6, 73.9, 71.8, 58.4, 84.1, 69.9),
    "AlignScore-L (0.4B)": (52.4, 71.4, 69.2, 72.6, 66.0, 85.3, 69.6, 74.3, 58.3, 84.5, 71.7),
    "Qwen2.5-0.5B-Instruct, zero-shot": (
        *(55.5, 62.9, 60.0, 64.7, 65.9, 85.8, 61.4, 68.9, 56.8, 72.4, 51.6),
    ),
}


def _key(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


_PLACES = {_key(name): place for place, name in enumerate(SETS)}


def _beside(what: str, figures: dict[str, float]) -> str:
    listed = ", ".join(f"{name} {value:.1f}" for name, value in figures.items())
    return f"published balanced accuracy in percent, {what}: {listed} ({SOURCE})"


def notes(split: str) -> tuple[str, ...]:
    """Return what is published for a set of the benchmark, by its name; nothing for others."""
    place = _PLACES.get(_key(split))
    if place is None:
        return ()
    figures = {name: values[place] for name, values in SYSTEMS.items()}
    return (_beside(SETS[place], figures),)


def notes_of_all(splits: Collection[str]) -> tuple[str, ...]:
    """Return the published averages where ``splits`` are exactly the benchmark's sets."""
    if {_key(split) for split in splits} != _PLACES.keys():
        return ()
    figures = {name: sum(values) / len(values) for name, values in SYSTEMS.items()}
    return (_beside("average of the eleven sets", figures),)
