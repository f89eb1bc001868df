"""RefChecker's benchmark from its source corpora, read back as the harness reads it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from refchecker_sources import (
    dolly,
    ms_marco,
    natural_question,
    natural_question_of_the_hub,
    write_lines,
)

from veridical.errors import UsageError
from veridical_lab.bench.datasets.refchecker import items
from veridical_lab.bench.datasets.suite import Item
from veridical_lab.studies.refchecker.building import build, ids_of, questions_of
from veridical_lab.studies.refchecker.prompting import prompts


def corpora(folder: Path) -> dict[str, Path]:
    dev = folder / "dev"
    dev.mkdir()
    for part, number in (("00", 11), ("01", 12)):
        line = json.dumps(natural_question(number)) + "\n"
        (dev / f"nq-dev-{part}.jsonl.gz").write_bytes(gzip.compress(line.encode()))
    return {
        "nq": dev,
        "msmarco": write_lines(folder / "ms.jsonl", ms_marco(21), ms_marco(22)),
        "dolly": write_lines(
            folder / "dolly.jsonl", dolly("open_qa", ""), dolly(), dolly("summarization")
        ),
    }


def annotated(folder: Path) -> Path:
    """Claims of one question of each corpus."""
    rows = [
        {
            "setting": setting,
            "model": "gpt4",
            "id": number,
            "response": "So.",
            "triplet": ["it", "is", "so"],
            "human_label": "Neutral",
        }
        for setting, number in (
            ("accurate_context", "2"),
            ("zero_context", "12"),
            ("noisy_context", "21"),
        )
    ]
    return write_lines(folder / "claims.jsonl", *rows)


def test_the_references_of_ids_are_what_the_harness_joins(tmp_path: Path) -> None:
    sources = corpora(tmp_path)
    data = tmp_path / "data"
    data.mkdir()
    claims = annotated(data)
    built = build(sources, ids=claims)
    assert not built.bad and not any(built.missing.values())
    built.write(data / "references.jsonl")
    found = {item.part: item for item in items(data) if isinstance(item, Item)}
    texts = {part: [c.text for c in item.record.contexts] for part, item in found.items()}
    assert texts == {
        "zero_context": ["The Globe Theatre was built in 1599 ."],
        "noisy_context": ["The tower leans.", "The tower of Pisa is 57 m tall."],
        "accurate_context": ["Ada wrote the first program."],
    }
    assert found["zero_context"].record.prompt == "when was the globe theatre built"
    lines = questions_of(data / "references.jsonl")
    assert [row.get("answers") for row in lines] == [["1599"], ["57 m"], ["Ada"]]
    assert lines[2]["kind"] == "summarization"


def test_rows_of_the_release_and_of_the_hub_say_the_same(tmp_path: Path) -> None:
    release = write_lines(tmp_path / "a.jsonl", natural_question(5))
    hub = write_lines(tmp_path / "b.jsonl", natural_question_of_the_hub(5))
    first, second = (build({"nq": path}, sample=9).questions for path in (release, hub))
    assert first == second and first[0].answers == ("1599",) and first[0].id == "5"


def test_a_sample_takes_only_what_can_be_checked_by_the_conditions_of_the_paper(
    tmp_path: Path,
) -> None:
    nq = write_lines(
        tmp_path / "nq.jsonl", natural_question(1, answered=False), natural_question(2)
    )
    marco = write_lines(tmp_path / "m.jsonl", ms_marco(3, selected=False), ms_marco(4))
    rows = [dolly("brainstorming"), dolly("closed_qa", " "), *[dolly()] * 30]
    built = build({"nq": nq, "msmarco": marco, "dolly": write_lines(tmp_path / "d.jsonl", *rows)},
                  sample=5)  # fmt: skip
    by_setting: dict[str, list[str]] = {}
    for question in built.questions:
        by_setting.setdefault(question.setting, []).append(question.id)
    assert by_setting["zero_context"] == ["2"] and by_setting["noisy_context"] == ["4"]
    drawn = by_setting["accurate_context"]
    assert len(set(drawn)) == 5 and all(2 <= int(i) < 32 for i in drawn)
    again = build({"dolly": tmp_path / "d.jsonl"}, sample=5)
    other = build({"dolly": tmp_path / "d.jsonl"}, sample=5, seed=1)
    assert [q.id for q in again.questions] == drawn != [q.id for q in other.questions]


def test_ids_are_read_from_every_published_form(tmp_path: Path) -> None:
    (tmp_path / "nq_example_ids.json").write_text('["7", 8]')
    (tmp_path / "dolly_gpt4_answers.json").write_text('[{"id": "3", "response": "a"}]')
    assert ids_of(tmp_path) == {"nq": ["7", "8"], "dolly": ["3"]}
    (tmp_path / "msmarco_example_ids.json").write_text("{}")
    with pytest.raises(UsageError, match=r"msmarco_example_ids\.json is not a list of ids"):
        ids_of(tmp_path)


def test_what_cannot_be_found_or_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "nq_example_ids.json").write_text('["1", "2", "9"]')
    torn = {**natural_question(2), "document_tokens": None, "annotations": [{}]}
    nq = write_lines(tmp_path / "nq.jsonl", natural_question(1), torn)
    built = build({"nq": nq}, ids=tmp_path / "nq_example_ids.json")
    assert [q.id for q in built.questions] == ["1"] and built.missing == {"nq": ["2", "9"]}
    assert "document_tokens" in str(built.bad[0]) and ":2" in str(built.bad[0])


@pytest.mark.parametrize(
    "row",
    [
        {"annotations": {"long_answer": [1], "short_answers": ["x"]}},
        {"annotations": [{"long_answer": 3, "short_answers": "y"}]},
        {"annotations": [{"long_answer": {"start_token": 0, "end_token": 10**9},
                          "short_answers": [4]}]},
        {"annotations": "none"},
        {"document_tokens": [1, 2]},
        {"document": {"tokens": {"token": ["a"], "is_html": []}}, "document_tokens": None},
    ],
)  # fmt: skip
def test_rows_of_another_shape_are_bad_or_without_a_reference(row: dict, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "nq.jsonl", {**natural_question(1), **row})
    built = build({"nq": path}, sample=3)
    assert built.questions == [] and len(built.bad) <= 1


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({}, "one of the two"),
        ({"sample": 3, "ids": "ids"}, "one of the two"),
        ({"ids": "ids"}, "has ids of dolly, and none of nq"),
        ({"ids": "empty"}, "no ids of questions"),
    ],
)
def test_what_does_not_fit_is_refused(how: dict, message: str, tmp_path: Path) -> None:
    (tmp_path / "ids").mkdir()
    (tmp_path / "ids" / "dolly_example_ids.json").write_text('["3"]')
    (tmp_path / "empty").mkdir()
    nq = write_lines(tmp_path / "nq.jsonl", natural_question(1))
    how = {k: tmp_path / v if k == "ids" else v for k, v in how.items()}
    with pytest.raises(UsageError, match=message):
        build({"nq": nq}, **how)
    with pytest.raises(UsageError, match="at least one corpus"):
        build({}, sample=1)
    with pytest.raises(UsageError, match="no such file or folder of nq"):
        build({"nq": tmp_path / "none"}, sample=1)


def test_models_are_asked_in_the_published_words(tmp_path: Path) -> None:
    built = build(corpora(tmp_path), sample=9)
    built.write(tmp_path / "r.jsonl")
    asked = {row["setting"]: row for row in prompts(questions_of(tmp_path / "r.jsonl"))}
    assert asked["zero_context"]["prompt"] == "when was the globe theatre built"
    assert asked["noisy_context"]["prompt"] == (
        "Please answer the following question based on the provided passages.\n\n"
        "Question: how tall is the tower of pisa?\n\nPassages:\nPassage 0: The tower leans.\n"
        "Passage 1: The tower of Pisa is 57 m tall.\n\nAnswer: "
    )
    whole = [row["prompt"] for row in prompts(questions_of(tmp_path / "r.jsonl"))]
    assert whole[-2].startswith("Instruction: Provide a well-formed answer to the question using")
    assert whole[-1] == (
        "Instruction: Who wrote the first program?\nContext: Ada wrote the first program."
    )
    assert asked["noisy_context"]["contexts"][1] == "The tower of Pisa is 57 m tall."


def test_questions_without_a_reference_are_refused_by_row(tmp_path: Path) -> None:
    good = {"id": 1, "question": "Who?", "references": ["Ada did."]}
    for bad, message in (
        ({"id": None}, "id"),
        ({"question": " "}, "question"),
        ({"references": []}, "references"),
        ({"setting": "no_context"}, "setting"),
    ):
        path = write_lines(tmp_path / "r.jsonl", good, {**good, **bad})
        with pytest.raises(UsageError, match=rf":2.*{message}"):
            questions_of(path)
