"""Suites on the published data: counts and shares as the papers and data cards state them."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.data


def asked(task: Any) -> tuple[int, float]:
    """Number of targets and the mean of their truth."""
    known = task.truth[~np.isnan(task.truth)]
    return len(known), float(known.mean())


def test_wikibio_tasks(shared_data: Path, load: Any) -> None:
    """SelfCheckGPT table 2: the Random row is the prevalence of each column."""
    wikibio = load("wikibio", shared_data / "wikibio_gpt3")
    assert not wikibio.bad and len(wikibio.items) == 238
    assert len(set(wikibio.labelled.groups.tolist())) == 238
    assert list(wikibio.tasks) == ["nonfact", "nonfact_star", "factual", "passage"]
    random = {"nonfact": (1908, 72.96), "nonfact_star": (1632, 29.72), "factual": (1908, 27.04)}
    for split, (n, share) in random.items():
        task = wikibio.tasks[split]
        count, mean = asked(task)
        assert count == n and round(100 * mean, 2) == share
        assert (task.level, task.kind, task.on) == ("sentence", "binary", "units")
        assert task.metrics == (
            "average_precision",
            "trapezoid_pr",
            "auroc",
            "balanced_accuracy",
        )
        assert task.flip == (split == "factual")
    star = ~np.isnan(wikibio.tasks["nonfact_star"].truth)
    assert len(set(wikibio.labelled.unit_item[star].tolist())) == 206
    passage = wikibio.tasks["passage"]
    assert (passage.level, passage.kind, passage.headline) == ("passage", "graded", "spearman")
    assert set(passage.metrics) == {"pearson", "spearman", "kendall"}


def test_wikibio_labels_follow_the_raw_rows(shared_data: Path, load: Any) -> None:
    path = shared_data / "wikibio_gpt3" / "wikibio_gpt3.jsonl"
    labelled = load("wikibio", path).labelled
    worth = {"accurate": 0.0, "minor_inaccurate": 0.5, "major_inaccurate": 1.0}
    with path.open(encoding="utf-8", newline="\n") as f:
        raw = [[worth[a] for a in json.loads(line)["annotation"]] for line in f]
    assert labelled.unit_label.tolist() == [y for row in raw for y in row]
    assert labelled.label == pytest.approx([np.mean(row) for row in raw])


def test_begin_drops_generic(shared_data: Path, load: Any) -> None:
    """Mirage: 3601 of WoW test; prevalences .613, .825, .806 (spec, section 0)."""
    begin = load("begin", shared_data / "begin")
    assert not begin.bad
    counts = {split: asked(task) for split, task in begin.tasks.items()}
    assert {k: n for k, (n, _) in counts.items()} == {
        "cmu/dev": 416 - 79,
        "tc/dev": 383 - 2,
        "wow/dev": 430,
        "wow/test": 3601,
    }
    shares = {k: round(share, 3) for k, (_, share) in counts.items()}
    assert (shares["wow/test"], shares["cmu/dev"], shares["tc/dev"]) == (0.613, 0.825, 0.806)
    assert all("generic" not in t.positive for t in begin.tasks.values())


def test_begin_keeps_generic_as_not_attributable(shared_data: Path, load: Any) -> None:
    begin = load("begin", shared_data / "begin", keep_generic=True)
    test = begin.tasks["wow/test"]
    assert asked(test) == (3607, (2209 + 6) / 3607)
    assert asked(begin.tasks["cmu/dev"]) == (416, (278 + 79) / 416)
    assert "generic" in test.positive


def test_begin_groups_are_what_was_answered(shared_data: Path, load: Any) -> None:
    begin = load("begin", shared_data / "begin" / "test_wow.tsv")
    raw = {(i.record.contexts[0].text, i.record.prompt) for i in begin.items}
    assert len({i.group for i in begin.items}) == len(raw) < 3601
    assert set(begin.labelled.parts.tolist()) == {"wow/test"}


def test_halueval(shared_data: Path, load: Any) -> None:
    halueval = load("halueval", shared_data / "halueval")
    assert not halueval.bad
    counts = {split: asked(task) for split, task in halueval.tasks.items()}
    assert counts == {
        "qa": (20_000, 0.5),
        "dialogue": (20_000, 0.5),
        "summarization": (20_000, 0.5),
        "general": (4507, 815 / 4507),
    }
    groups = Counter((i.part, i.group) for i in halueval.items)
    assert Counter((part, n) for (part, _), n in groups.items()) == {
        ("qa", 2): 10_000,
        ("dialogue", 2): 10_000,
        ("summarization", 2): 10_000,
        ("general", 1): 4507,
    }
    held = Counter(i.part for i in halueval.items if i.facets["heldout"] == "yes")
    assert held == {"qa": 4000, "dialogue": 4000, "summarization": 4000, "general": 901}


def test_halueval_held_out_is_the_end_of_the_file(shared_data: Path, load: Any) -> None:
    path = shared_data / "halueval" / "dataset_halueval_qa.jsonl"
    with path.open(encoding="utf-8", newline="\n") as f:
        raw = [json.loads(line) for line in f]
    items = load("halueval", path).items
    held = [i.record for i in items if i.facets["heldout"] == "yes"]
    expected = [(r["right_answer"], r["hallucinated_answer"]) for r in raw[8000:]]
    answers = [r.response for r in held]
    assert list(zip(answers[::2], answers[1::2], strict=True)) == expected
    assert [r.label for r in held] == [0.0, 1.0] * 2000


def test_refchecker_majorities(shared_data: Path, load: Any) -> None:
    """Spec, section 0.7: Neutral .548, Entailment .813, Entailment .839."""
    refchecker = load("refchecker", shared_data / "refchecker")
    assert not refchecker.bad and len(refchecker.items) == 10_733
    majority = {}
    for split, task in refchecker.tasks.items():
        assert (task.kind, task.level) == ("classes", "claim")
        known = task.truth[~np.isnan(task.truth)]
        number, count = Counter(known.astype(int).tolist()).most_common(1)[0]
        majority[split] = (task.classes[number], round(count / len(known), 3))
    assert majority == {
        "zero_context": ("Neutral", 0.548),
        "noisy_context": ("Entailment", 0.813),
        "accurate_context": ("Entailment", 0.839),
        "all": ("Entailment", round(7176 / 10_733, 3)),
    }
    groups = Counter(part for part, _ in {(i.part, i.group) for i in refchecker.items})
    assert groups == {"zero_context": 100, "noisy_context": 100, "accurate_context": 100}
    assert len({i.facets["model"] for i in refchecker.items}) == 7


def test_ragtruth(shared_data: Path, load: Any) -> None:
    """943 of 2700; always-positive by task sums to it (696 + 740 + 321 right of 900 each)."""
    ragtruth = load("ragtruth", shared_data / "ragtruth_test")
    assert not ragtruth.bad
    assert asked(ragtruth.tasks["all"]) == (2700, 943 / 2700)
    right = ragtruth.tasks["all-right"]
    assert right.flip and asked(right) == (2700, (696 + 740 + 321) / 2700)
    models = {k: asked(t) for k, t in ragtruth.tasks.items() if k.startswith("model:")}
    assert len(models) == 6 and {n for n, _ in models.values()} == {450}
    assert models["model:gpt-4-0613"][1] == 42 / 450
    assert asked(ragtruth.tasks["spans"]) == (2700, 943 / 2700)
    assert len(ragtruth.labelled.unit_item) == 1533
    assert len(set(ragtruth.labelled.groups.tolist())) == 450
    # the sources are not here: the tasks are told by the order (Niu et al. 2024, table 3: shares)
    tasks = {k: asked(t) for k, t in ragtruth.tasks.items() if k.startswith("task:")}
    assert tasks["task:Summary"] == (900, 204 / 900)
    assert tasks["task:Data2txt"] == (900, 579 / 900)
    assert tasks["task:QA"] == (900, 160 / 900)


def listed(path: Path) -> tuple[int, int, int]:
    """Questions, wrong and right answers of a TruthfulQA file, counted from the file itself."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".csv":
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        columns = ("Incorrect Answers", "Correct Answers")
        answers = [[[a for a in r[c].split(";") if a.strip()] for c in columns] for r in rows]
    elif path.suffix == ".jsonl":
        rows = [json.loads(line) for line in text.split("\n") if line]
        answers = [[r["incorrect_answers"], r["correct_answers"]] for r in rows]
    else:
        scores = [list(e["target_scores"].values()) for e in json.loads(text)["examples"]]
        answers = [[[s for s in row if s == k] for k in (0, 1)] for row in scores]
    return len(answers), sum(len(w) for w, _ in answers), sum(len(r) for _, r in answers)


@pytest.mark.parametrize(
    ("name", "published"),
    [("TruthfulQA.csv", 790), ("TruthfulQA_generation.jsonl", 817), ("bigbench_task_mc.json", 299)],
)
def test_truthfulqa(name: str, published: int, shared_data: Path, load: Any) -> None:
    questions, wrong, right = listed(shared_data / "truthfulqa" / name)
    assert questions == published
    truthfulqa = load("truthfulqa", shared_data / "truthfulqa" / name)
    assert not truthfulqa.bad
    assert asked(truthfulqa.tasks["truthfulqa"]) == (wrong + right, wrong / (wrong + right))
    assert len(set(truthfulqa.labelled.groups.tolist())) == questions
    for item in truthfulqa.items:
        assert item.record.response not in item.record.reference


def test_a_folder_with_three_releases_gives_one(shared_data: Path, load: Any) -> None:
    folder = shared_data / "truthfulqa"
    _, wrong, right = listed(folder / "TruthfulQA.csv")
    assert len(load("truthfulqa", folder).items) == wrong + right
