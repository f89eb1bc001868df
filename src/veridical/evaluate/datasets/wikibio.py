"""WikiBio GPT-3 hallucination (Manakul, Liusie and Gales 2023): sentences of 238 passages.

Sentences are labelled accurate, minor inaccurate or major inaccurate (0, 0.5, 1); a passage's
label is the mean of its sentences (SelfCheckGPT, section 7).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from veridical.errors import RowError
from veridical.evaluate.datasets.files import checked, files_of, has_records
from veridical.evaluate.datasets.suite import BadItem, Item, Labelled, Options, Suite, Task
from veridical.io import open_source

_PART = "wikibio"
_NEEDS = (
    "wikibio_gpt3.jsonl, or a JSONL, JSON or Parquet file whose rows have gpt3_text, "
    "gpt3_sentences, annotation (accurate, minor_inaccurate, major_inaccurate) and "
    "gpt3_text_samples"
)
_SENTENCE = ("average_precision", "trapezoid_pr", "auroc")


def _load(path: Path, options: Options) -> Iterator[Item | BadItem]:
    return checked(_items(path), path, _PART, _NEEDS)


def _items(path: Path) -> Iterator[Item | BadItem]:
    files = files_of(path, ("wikibio_gpt3.jsonl",), lambda p: has_records(p, "wikibio"))
    for row in open_source(files, reader="wikibio").rows():
        if isinstance(row, RowError):
            yield BadItem(_PART, row)
        else:
            yield Item(row, _PART, str(row.id))


def _tasks(labelled: Labelled) -> list[Task]:
    """The four columns of SelfCheckGPT's table 2.

    NonFact* leaves out passages that are wholly major inaccurate (mean label 1), which would be
    found without reading a sentence: 206 passages with 1632 sentences remain.
    """
    label = labelled.unit_label
    mean = labelled.label[labelled.unit_item]
    star = np.where(mean < 0.99, (label >= 0.99).astype(np.float64), np.nan)
    return [
        Task(
            "nonfact",
            "sentence",
            "binary",
            "inaccurate, minor or major",
            "units",
            (label >= 0.5).astype(np.float64),
            metrics=_SENTENCE,
        ),
        Task(
            "nonfact_star",
            "sentence",
            "binary",
            "major inaccurate, passages that are wholly so left out",
            "units",
            star,
            metrics=_SENTENCE,
        ),
        Task(
            "factual",
            "sentence",
            "binary",
            "accurate",
            "units",
            (label < 0.5).astype(np.float64),
            metrics=_SENTENCE,
            flip=True,
        ),
        Task(
            "passage",
            "passage",
            "graded",
            "mean inaccuracy of the sentences",
            "items",
            labelled.label,
            metrics=("spearman", "pearson", "kendall"),
            headline="spearman",
        ),
    ]


SUITE = Suite(
    name="wikibio",
    summary="GPT-3 lives of people, labelled by sentence, with 20 samples each",
    needs=_NEEDS,
    source="Manakul, Liusie and Gales 2023 (SelfCheckGPT)",
    load=_load,
    tasks=_tasks,
    hub="potsawee/wiki_bio_gpt3_hallucination",
    hub_files=("data/*.parquet",),
    against="samples",
    quick=None,
)
