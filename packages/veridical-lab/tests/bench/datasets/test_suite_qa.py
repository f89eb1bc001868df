"""The qa suite: questions of six data sets in their published formats, and answers to them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veridical.errors import UsageError
from veridical_lab.bench.datasets import find_suite
from veridical_lab.bench.datasets.qa_questions import grader_of, has_questions
from veridical_lab.bench.datasets.suite import BadItem, Item

CSQA = {
    "answerKey": "B",
    "id": "x1",
    "question": {
        "question_concept": "door",
        "stem": "Where is a door?",
        "choices": [{"label": "A", "text": "a sea"}, {"label": "B", "text": "a house"}],
    },
}
ARC = {
    "id": "Mercury_1",
    "question": {
        "stem": "What melts?",
        "choices": [{"text": "ice", "label": "1"}, {"text": "sand", "label": "2"}],
    },
    "answerKey": "1",
}
ARC_HUB = {
    "id": "Mercury_1",
    "question": "What melts?",
    "choices": {"text": ["ice", "sand"], "label": ["1", "2"]},
    "answerKey": "1",
}
POPQA = {
    "id": "42",
    "subj": "George",
    "question": "What is George's occupation?",
    "possible_answers": '["politician", "pol"]',
}
NQ = {"question": "when was the moon reached", "answer": ["1969", "July 1969"]}
EFFICIENT = {**NQ, "def_correct_predictions": [], "def_incorrect_predictions": ["1970"]}
HOTPOT = {
    "_id": "5a8b57f25542995d1e6f1371",
    "question": "Were both men of one nationality?",
    "answer": "yes",
    "type": "comparison",
    "level": "hard",
    "supporting_facts": [["Scott", 0], ["Ed", 0]],
    "context": [["Scott", ["Scott is American."]], ["Ed", ["Ed was American."]]],
}
SIMPLE = {
    "metadata": "{'topic': 'Science', 'answer_type': 'Person', 'urls': ['https://a.example']}",
    "problem": "Who received the award in 2010?",
    "answer": "Michio Sugeno",
}
SVAMP = {
    "ID": "chal-1",
    "Body": "Each pack costs 76 dollars",
    "Question": "How much are 2 packs?",
    "Equation": "( 76.0 * 2.0 )",
    "Answer": 152.0,
    "Type": "Multiplication",
}
GSM8K = {"question": "How many eggs?", "answer": "16 - 7 = <<16-7=9>>9\n#### 1,009"}
ALL = {
    "csqa": ("dev_rand_split.jsonl", CSQA),
    "arc": ("ARC-Challenge-Test.jsonl", ARC),
    "popqa": ("popQA.tsv", POPQA),
    "nq_open": ("NQ-open.dev.jsonl", NQ),
    "efficientqa": ("NQ-open.efficientqa.test.1.1.jsonl", EFFICIENT),
    "hotpotqa": ("hotpot_dev_distractor_v1.json", HOTPOT),
    "simpleqa": ("simple_qa_test_set.csv", SIMPLE),
    "svamp": ("SVAMP.json", SVAMP),
    "gsm8k": ("test.jsonl", GSM8K),
}


def asked(path: Path) -> tuple[list[Item], list[BadItem]]:
    suite = find_suite("qa")
    assert suite.questions is not None
    rows = list(replace(suite, read=suite.questions).load(path))
    items = [r for r in rows if isinstance(r, Item)]
    return items, [r for r in rows if isinstance(r, BadItem)]


def test_every_published_format(write: Any) -> None:
    for name, row in ALL.values():
        path = write(f"qa/{name}", [row])
    items, bad = asked(path.parent)
    assert not bad and [i.part for i in items] == list(ALL)
    by_part = {i.part: i.record for i in items}
    assert by_part["csqa"].reference == ("B", "a house")
    assert by_part["csqa"].meta["choices"] == {"A": "a sea", "B": "a house"}
    prompt = by_part["csqa"].prompt
    assert isinstance(prompt, str) and prompt.startswith("Where is a door?\nA. a sea\nB. a house\n")
    assert by_part["arc"].reference == ("A", "ice")  # options are lettered
    assert by_part["popqa"].reference == ("politician", "pol")
    assert by_part["nq_open"].reference == ("1969", "July 1969")
    assert by_part["hotpotqa"].reference == ("yes",) and by_part["hotpotqa"].id == HOTPOT["_id"]
    assert by_part["simpleqa"].reference == ("Michio Sugeno",)
    asked_for = "Who received the award in 2010?\n\nAnswer as briefly as possible"
    assert str(by_part["simpleqa"].prompt).startswith(asked_for)
    assert by_part["svamp"].reference == ("152",)
    svamp = by_part["svamp"].prompt
    assert isinstance(svamp, str)
    assert svamp.startswith("Each pack costs 76 dollars. How much are 2 packs?")
    assert by_part["gsm8k"].reference == ("1,009",)
    assert all(i.record.response == "" and i.record.label is None for i in items)


@pytest.mark.parametrize(
    ("row", "part"),
    [
        (ARC_HUB, "arc"),
        ({**ARC_HUB, "question_concept": "melting"}, "csqa"),
        ({**POPQA, "possible_answers": ["politician"]}, "popqa"),
        (
            {
                **{k: HOTPOT[k] for k in ("question", "answer", "type", "level")},
                "id": "5a8b",
                "supporting_facts": {"title": ["Scott", "Ed"], "sent_id": [0, 0]},
                "context": {"title": ["Scott"], "sentences": [["Scott is American."]]},
            },
            "hotpotqa",
        ),
        ({**SVAMP, "Answer": "152.00"}, "svamp"),
    ],
)
def test_the_hubs_formats(row: dict[str, Any], part: str, write: Any) -> None:
    (item,), bad = asked(write("rows.parquet", [row]))
    assert not bad and item.part == part and item.record.reference


def test_one_split_of_each_data_set(write: Any) -> None:
    train, test = {**GSM8K, "question": "train?"}, {**GSM8K, "question": "test?"}
    write("g/train.jsonl", [train])
    path = write("g/test.jsonl", [test])
    (item,), _ = asked(path.parent)
    assert str(item.record.prompt).startswith("test?")
    # CommonsenseQA's test set has no answers
    write("c/test_rand_split.jsonl", [{**CSQA, "answerKey": ""}])
    path = write("c/dev_rand_split.jsonl", [CSQA])
    assert len(asked(path.parent)[0]) == 1


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({**CSQA, "answerKey": "Z"}, "answerKey"),
        ({**CSQA, "answerKey": ""}, "answerKey"),
        ({**CSQA, "question": {**CSQA["question"], "choices": "A"}}, "choices"),
        ({**CSQA, "question": {**CSQA["question"], "stem": 5}}, "question.stem"),
        ({**POPQA, "possible_answers": "[politician"}, "possible_answers"),
        ({**SVAMP, "Answer": None}, "Answer"),
        ({**GSM8K, "answer": "no mark"}, "answer"),
        ({**NQ, "answer": []}, None),
        ({**NQ, "question": " "}, "question"),
        ({**HOTPOT, "answer": None}, "answer"),
        ({**SIMPLE, "problem": 5}, "problem"),
    ],
)
def test_bad_rows_are_told(row: dict[str, Any], field: str | None, write: Any) -> None:
    alike = (r for _, r in ALL.values() if set(r) == set(row))
    good = GSM8K if set(row) == set(GSM8K) and isinstance(row["answer"], str) else next(alike)
    items, bad = asked(write("rows.jsonl", [good, row]))
    assert len(items) == 1 and [b.error.field for b in bad] == [field]
    assert bad[0].error.row == 1 and bad[0].part == items[0].part


def test_questions_without_a_model(write: Any) -> None:
    path = write("q/test.jsonl", [GSM8K])
    assert has_questions(path) and has_questions(path.parent)
    for place in (path, path.parent):
        with pytest.raises(UsageError, match=r"name a model to answer them \(--llm\)"):
            list(find_suite("qa").load(place))


def test_answers_with_labels_and_without(write: Any, load: Any) -> None:
    rows = [
        {"prompt": "q1", "response": "4", "label": 0, "meta": {"dataset": "svamp"}},
        {"prompt": "q2", "response": "It is 5.", "reference": "5", "dataset": "svamp"},
        {"prompt": "q3", "response": "It is 5.", "reference": "4", "dataset": "svamp"},
        {"prompt": "q4", "response": "the sea", "reference": "Sea", "dataset": "popqa"},
        {
            "prompt": "q5",
            "response": "(B)",
            "reference": "B",
            "dataset": "arc",
            "choices": ["x", "y"],
        },
        {"prompt": "q6", "response": "?", "dataset": "arc", "label": None},
    ]
    loaded = load("qa", write("mine.jsonl", rows))
    assert [i.record.label for i in loaded.items] == [0, 0, 1, 0, 0, None]
    assert [i.part for i in loaded.items] == ["svamp"] * 3 + ["popqa", "arc", "arc"]
    assert loaded.items[2].record.meta["grade"]["grader"] == "numeric"
    assert loaded.items[4].record.meta["grade"]["grader"] == "choice"
    right = loaded.tasks["svamp-right"]
    assert right.truth[:3].tolist() == [1, 1, 0] and right.flip and right.objective == "f1"
    assert loaded.tasks["svamp"].truth[:3].tolist() == [0, 0, 1]


def test_the_rule_of_each_data_set() -> None:
    assert [grader_of(p) for p in ("csqa", "arc", "svamp", "gsm8k/175b")] == [
        "choice",
        "choice",
        "numeric",
        "numeric",
    ]
    assert grader_of("popqa") == grader_of("nq_open") == grader_of("other") == "contains"
    assert grader_of("other", {"A": "x"}) == "choice"


def test_model_solutions(write: Any, load: Any) -> None:
    row = {
        "question": "2 + 2?",
        "ground_truth": "It is four.\nA: 4",
        "small": {"is_correct": False, "solution": "A: 5"},
        "large": {"is_correct": True, "solution": "A: 4"},
    }
    broken = {**row, "small": {"is_correct": "no", "solution": "A: 5"}}
    loaded = load("qa", write("s.jsonl", [row, broken, {"question": "2?"}]))
    assert [(i.part, i.record.response, i.record.label) for i in loaded.items] == [
        ("gsm8k/small", "A: 5", 1.0),
        ("gsm8k/large", "A: 4", 0.0),
    ]
    assert [s.text for s in loaded.items[0].record.samples] == ["A: 4"]
    assert [b.error.field for b in loaded.bad] == ["small.is_correct", None]
    assert any("other models" in n for n in loaded.tasks["gsm8k/small"].notes)


# --- on the published files


@pytest.fixture(scope="module")
def qa_data(shared_data: Path) -> Path:
    folder = shared_data / "qa"
    if not folder.is_dir():
        pytest.skip(f"BENCHMARK DATA ABSENT: no folder {folder}")
    return folder


@pytest.mark.data
def test_counts_of_the_published_files(qa_data: Path) -> None:
    """Sizes as the data sets' own pages state them."""
    items, bad = asked(qa_data)
    assert not bad
    assert Counter(i.part for i in items) == {
        "csqa": 1221,
        "nq_open": 3610,
        "efficientqa": 1769,
        "svamp": 1000,
        "gsm8k": 1319,
    }
    chosen = [i.record for i in items if i.part == "csqa"]
    assert all(len(r.meta["choices"]) == 5 for r in chosen)
    assert all(r.meta["choices"][r.reference[0]] == r.reference[1] for r in chosen)


@pytest.mark.data
def test_gold_answers_are_right_by_their_own_grader(qa_data: Path) -> None:
    from veridical_lab.bench.datasets.qa import graded

    items, _ = asked(qa_data)
    wrong = []
    for item in items:
        for gold in item.record.reference:
            answered = item.record.model_copy(update={"response": gold})
            if graded(answered, item.part).label != 0:
                wrong.append(gold)
    assert not [gold for gold in wrong if any(c.isalnum() for c in gold)]
    assert len(wrong) < 5  # questions about punctuation, which no normal form keeps


@pytest.mark.data
def test_the_grader_agrees_with_gsm8ks_own_labels(qa_data: Path, load: Any) -> None:
    """5 276 answers of four models, graded by the authors of GSM8K (Cobbe et al. 2021)."""
    from veridical_lab.bench.datasets.qa import graded

    loaded = load("qa", qa_data)
    assert len(loaded.items) == 4 * 1319 and not loaded.bad
    ours = np.array([graded(i.record, i.part).label for i in loaded.items])
    assert (ours == loaded.labelled.label).all()
    assert len(set(loaded.labelled.groups[loaded.labelled.parts == "gsm8k/6b_finetuning"])) == 1319


@pytest.mark.data
def test_containment_against_peoples_judgements(qa_data: Path) -> None:
    """EfficientQA: people judged predictions of five systems. ``contains`` must call right hardly
    any that they called definitely wrong, and more than ``exact`` of the definitely right."""
    from veridical.core.records import Record
    from veridical.tuning.graders import load_grader

    def share(name: str, column: str) -> float:
        grades = []
        with (qa_data / "NQ-open.efficientqa.test.1.1.jsonl").open(encoding="utf-8") as f:
            for row in map(json.loads, f):
                for text in row[column]:
                    record = Record(response=text, reference=row["answer"])
                    try:
                        load_grader(name).grade(record).send(None)
                    except StopIteration as done:
                        grades.append(done.value.correct)
        known = [g for g in grades if g is not None]
        assert len(known) > 700
        return float(np.mean(known))

    assert share("exact", "def_incorrect_predictions") == 0
    assert share("contains", "def_incorrect_predictions") < 0.015
    assert (
        share("contains", "def_correct_predictions")
        > 0.15
        > share("exact", "def_correct_predictions")
    )
