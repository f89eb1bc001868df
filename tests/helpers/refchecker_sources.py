"""Rows in the forms in which the source corpora of RefChecker's benchmark are published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_PAGE = ["<P>", "The", "Globe", "Theatre", "was", "built", "in", "1599", ".", "</P>"]


def natural_question(number: int, *, answered: bool = True) -> dict[str, Any]:
    """As in nq-dev-00.jsonl.gz; the first annotator has no short answer."""
    whole = {"start_token": 0, "end_token": len(_PAGE)}
    short = [{"start_token": 7, "end_token": 8}] if answered else []
    return {
        "example_id": number,
        "question_text": "when was the globe theatre built",
        "document_tokens": [{"token": t, "html_token": t.startswith("<")} for t in _PAGE],
        "annotations": [
            {"long_answer": {"start_token": -1, "end_token": -1}, "short_answers": []},
            {"long_answer": whole, "short_answers": short},
        ],
    }


def natural_question_of_the_hub(number: int) -> dict[str, Any]:
    """The same in columns."""
    none: dict[str, list[int]] = {"start_token": [], "end_token": []}
    return {
        "id": str(number),
        "question": {"text": "when was the globe theatre built", "tokens": []},
        "document": {"tokens": {"token": _PAGE, "is_html": [t.startswith("<") for t in _PAGE]}},
        "annotations": {
            "id": ["1", "2"],
            "long_answer": [
                {"start_token": -1, "end_token": -1},
                {"start_token": 0, "end_token": len(_PAGE)},
            ],
            "short_answers": [none, {"start_token": [7], "end_token": [8]}],
        },
    }


def ms_marco(number: int, *, selected: bool = True) -> dict[str, Any]:
    """A row of v2.1."""
    return {
        "query_id": number,
        "query": "how tall is the tower of pisa",
        "query_type": "NUMERIC",
        "answers": ["57 m"],
        "wellFormedAnswers": [],
        "passages": {
            "is_selected": [0, int(selected)],
            "passage_text": ["The tower leans.", "The tower of Pisa is 57 m tall."],
            "url": ["a", "b"],
        },
    }


def dolly(kind: str = "closed_qa", context: str = "Ada wrote the first program.") -> dict[str, Any]:
    """A row of databricks-dolly-15k."""
    return {
        "instruction": "Who wrote the first program?",
        "context": context,
        "response": "Ada",
        "category": kind,
    }


def write_lines(path: Path, *rows: Any) -> Path:
    """JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
