"""Notes on a split: omitted data, and the reasons."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from veridical_lab.bench.datasets.suite import Labelled, Task
from veridical_lab.bench.judged import TaskTargets
from veridical_lab.bench.judgements import NOT_APPLICABLE, RISK, Column
from veridical_lab.bench.protocol import Chosen
from veridical_lab.bench.result import Split


def left_out(chosen: Chosen, parts: Collection[str]) -> list[str]:
    """Return notes on the omitted items of these parts."""
    draws = [
        f"quick protocol: {n} of {total} independent items of {part}, drawn by seed"
        for part, (n, total) in chosen.taken.items()
        if part in parts
    ]
    notes = [note for part in sorted(parts) for note in chosen.notes.get(part, ())]
    unlabelled = [
        f"{n} rows of {part} have no label and are left out"
        for part, n in chosen.unlabelled.items()
        if n and part in parts
    ]
    return notes + draws + unlabelled


def unheard(
    task: Task, split: Split, columns: Mapping[str, Column], labelled: Labelled
) -> list[str]:
    """Explain the missing metrics of scorers requested by name."""
    where = TaskTargets.of(task, labelled).where
    notes = []
    for name, column in columns.items():
        if name in split.scorers or name == RISK:
            continue
        scores = column.over(task.on)
        reason = next((scores.reasons[i] for i in where.tolist() if i in scores.reasons), "")
        if (column.items.status == NOT_APPLICABLE).all():
            notes.append(f"{name} applies to no item" + (f": {reason}" if reason else ""))
        elif not column.has_units and (task.on == "units" or task.kind == "spans"):
            notes.append(f"{name} judges whole responses, not parts of them")
        else:
            notes.append(f"{name} applies to none of these" + (f": {reason}" if reason else ""))
    return notes
