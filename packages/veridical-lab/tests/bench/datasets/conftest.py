"""Loading a suite whole, and writing small data sets in the published formats."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from veridical_lab.bench.datasets import find_suite
from veridical_lab.bench.datasets.suite import BadItem, Item, Labelled, Task


@dataclass
class Loaded:
    """All of a suite: items, bad rows, columns and tasks by split."""

    items: list[Item]
    bad: list[BadItem]
    labelled: Labelled
    tasks: dict[str, Task]


def load_suite(name: str, path: Path, **options: Any) -> Loaded:
    suite = find_suite(name)
    read = list(suite.load(path, suite.options(**options)))
    items = [i for i in read if isinstance(i, Item)]
    labelled = Labelled.of(items)
    tasks = suite.tasks(labelled)
    by_split = {t.split: t for t in tasks}
    assert len(by_split) == len(tasks), "two tasks of one name"
    for task in tasks:
        targets = len(items) if task.on == "items" else len(labelled.unit_item)
        assert task.truth.shape == (targets,)
    return Loaded(items, [i for i in read if isinstance(i, BadItem)], labelled, by_split)


@pytest.fixture
def load() -> Callable[..., Loaded]:
    return load_suite


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes rows as JSONL, JSON, CSV, TSV (unquoted) or Parquet, by the name's extension."""

    def writing(name: str, rows: list[Any]) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".parquet":
            import pyarrow as pa
            import pyarrow.parquet as pq

            pq.write_table(pa.Table.from_pylist(rows), path)
        elif path.suffix == ".json":
            path.write_text(json.dumps(rows), encoding="utf-8")
        elif path.suffix == ".tsv":
            lines = ["\t".join(rows[0]), *("\t".join(map(str, r.values())) for r in rows)]
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        elif path.suffix == ".csv":
            import csv

            with path.open("w", newline="", encoding="utf-8") as f:
                writer = csv.DictWriter(f, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
        else:
            path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
        return path

    return writing


WIKIBIO = {
    "wiki_bio_test_idx": 7,
    "gpt3_text": "One is true. Two is not. Three is half.",
    "gpt3_sentences": ["One is true.", "Two is not.", "Three is half."],
    "annotation": ["accurate", "major_inaccurate", "minor_inaccurate"],
    "gpt3_text_samples": ["One sample.", "Another sample."],
    "wiki_bio_text": "The gold text.",
}
BEGIN = {
    "model_name": "t5",
    "data_source": "wow",
    "knowledge": "Cats sleep for most of the day.",
    "message": "do you like cats ?",
    "response": 'i do , " they sleep a lot',
    "begin_label": "Fully attributable",
}
HALUEVAL = {
    "knowledge": "Arthur was first.",
    "question": "Which was first?",
    "right_answer": "Arthur",
    "hallucinated_answer": "First for Women was first.",
}
GENERAL = {
    "ID": "1",
    "user_query": "Say something.",
    "chatgpt_response": "Something.",
    "hallucination": "no",
    "hallucination_spans": [],
}
CLAIM = {
    "setting": "zero_context",
    "dataset": "nq",
    "model": "gpt4",
    "id": "42",
    "response": "Peter sang it.",
    "triplet": ["Peter", "sang", "it"],
    "human_label": "Neutral",
}
ANSWER = {
    "id": "42",
    "response": "Peter sang it in 1967.",
    "claude2_response_kg": [
        {"triplet": ["Peter", "sang", "it"], "human_label": "Entailment"},
        {"triplet": ["It", "sung in", "1967"], "human_label": "Contradiction"},
    ],
}
RAGTRUTH = {
    "id": "1",
    "source_id": "900",
    "model": "gpt-4-0613",
    "temperature": 0.7,
    "labels": [{"start": 4, "end": 8, "text": "five", "label_type": "Evident Conflict"}],
    "split": "test",
    "quality": "good",
    "response": "The five passages.",
}
TRUTHFULQA = {
    "question": "What is it?",
    "best_answer": "A stone",
    "correct_answers": ["A stone", "A rock"],
    "incorrect_answers": ["A cloud"],
}
TURN = {
    "history": ["Been to a concert?", "Tell me more."],
    "speaker": "Wizard",
    "knowledge": "It began in 2015.",
    "original_response": "It began in 2015. Imagine that!",
    "response": "It began in 2015.",
    "BEGIN": ["Hallucination", "Entailment"],
    "VRM": ["Disclosure", "Question"],
}
DIALOGUE = {"utterances": [TURN]}
BIOGRAPHY = {
    "input": "Question: Tell me a bio of Suthida.",
    "output": "Suthida is a queen. She was born in Paris.",
    "topic": "Suthida",
    "cat": ["freq", "Asia"],
    "annotations": [
        {
            "text": "Suthida is a queen.",
            "is-relevant": True,
            "model-atomic-facts": [{"text": "Suthida is a queen."}],
            "human-atomic-facts": [
                {"text": "Suthida is a queen.", "label": "S"},
                {"text": "Suthida is a name.", "label": "IR"},
            ],
        },
        {
            "text": "She was born in Paris.",
            "is-relevant": True,
            "human-atomic-facts": [{"text": "Suthida was born in Paris.", "label": "NS"}],
        },
        {"text": "Here is a bio.", "is-relevant": False, "human-atomic-facts": None},
    ],
}
CODE = {
    "task_id": "T/0",
    "prompt": "def add(a, b):",
    "completion": "    return a + b",
    "passed": True,
    "language": "python",
}
GRADED = {"prompt": "Where?", "response": "Here. There.", "label": 0.25}
ANSWERED = {
    "prompt": "What is 2 + 2?",
    "response": "It is 4.",
    "samples": ["4", "5"],
    "reference": "4",
    "label": 0.0,
    "meta": {"dataset": "svamp"},
}
CLAIMED = {
    "response": "Peter sang it in 1967.",
    "claims": ["Peter sang it.", ["It", "is of", "1967"]],
}

#: Suite -> file name and a valid row of it.
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "wikibio": ("wikibio_gpt3.jsonl", WIKIBIO),
    "begin": ("test_wow.tsv", BEGIN),
    "halueval": ("qa_data.json", HALUEVAL),
    "refchecker": ("claims.jsonl", CLAIM),
    "refchecker_responses": ("claims.jsonl", CLAIM),
    "ragtruth": ("response.jsonl", RAGTRUTH),
    "truthfulqa": ("generation.jsonl", TRUTHFULQA),
    "faithdial": ("test.jsonl", DIALOGUE),
    "factscore": ("ChatGPT.jsonl", BIOGRAPHY),
    "graded": ("mine.jsonl", GRADED),
    "code": ("code.jsonl", CODE),
    "qa": ("answers.jsonl", ANSWERED),
    "extraction": ("mine.jsonl", CLAIMED),
    "grounded": ("grounded.jsonl", {"response": "It is 3.", "contexts": ["It is 3."], "label": 0}),
}


@pytest.fixture
def published() -> dict[str, tuple[str, dict[str, Any]]]:
    return ROWS
