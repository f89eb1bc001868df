"""WikiBio GPT-3 hallucination (Manakul, Liusie and Gales 2023): sentences of 238 passages.

Sentences are labelled accurate, minor inaccurate or major inaccurate (0, 0.5, 1); a passage's
label is the mean of its sentences (SelfCheckGPT, section 7).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from veridical_lab.bench.datasets.files import files_of, has_records, read_records
from veridical_lab.bench.datasets.suite import BadItem, Item, Labelled, Suite, Task

_PART = "wikibio"
_NEEDS = (
    "wikibio_gpt3.jsonl, or a JSONL, JSON or Parquet file whose rows have gpt3_text, "
    "gpt3_sentences, annotation (accurate, minor_inaccurate, major_inaccurate) and "
    "gpt3_text_samples"
)
_SENTENCE = ("average_precision", "trapezoid_pr", "auroc", "balanced_accuracy")


def _items(path: Path, options: object) -> Iterator[Item | BadItem]:
    files = files_of(path, ("wikibio_gpt3.jsonl",), lambda p: has_records(p, "wikibio"))
    return read_records(files, "wikibio", _PART, lambda record: str(record.id))


def _tasks(labelled: Labelled) -> list[Task]:
    """Return the tasks of the four columns of SelfCheckGPT's table 2.

    NonFact* leaves out passages that are wholly major inaccurate (mean label 1), which could be
    found without reading a sentence. 206 passages with 1632 sentences remain.
    """
    label = labelled.unit_label
    mean = labelled.label[labelled.unit_item]
    star = np.where(mean < 0.99, (label >= 0.99).astype(np.float64), np.nan)
    wholly = "major inaccurate, passages that are wholly so left out"
    questions = (
        ("nonfact", "inaccurate, minor or major", (label >= 0.5).astype(np.float64)),
        ("nonfact_star", wholly, star),
        ("factual", "accurate", (label < 0.5).astype(np.float64)),
    )
    by_sentence = [
        Task(
            *(split, "sentence", "binary", positive, "units", truth),
            metrics=_SENTENCE,
            flip=split == "factual",
        )
        for split, positive, truth in questions
    ]
    mean_label = "mean inaccuracy of the sentences"
    return [*by_sentence, Task("passage", "passage", "graded", mean_label, "items", labelled.label)]


SUITE = Suite(
    name="wikibio",
    summary="GPT-3 biographies, labelled by sentence, with 20 samples each",
    needs=_NEEDS,
    source="Manakul, Liusie and Gales 2023 (SelfCheckGPT)",
    read=_items,
    tasks=_tasks,
    hub="potsawee/wiki_bio_gpt3_hallucination",
    hub_files=("data/*.parquet",),
    against="samples",
    quick=None,
)
