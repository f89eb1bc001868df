"""``review --import``, ``--export`` and ``rate`` as they are typed: what they write and refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from doc_files import run
from review_runs import items_of, label_all, make_run, rows

from veridical.review.service import ReviewService

#: Answers and their labelled claims as RefChecker publishes them: nq_gpt4_answers.json.
PUBLISHED: list[dict[str, Any]] = [
    {
        "id": "7",
        "response": "Rome is a city. It has 9 rivers.",
        "claude2_response_kg": [
            {"triplet": ["Rome", "is", "a city"], "human_label": "Entailment"},
            {"triplet": ["Rome", "has", "9 rivers"], "human_label": "Contradiction"},
            {"triplet": ["Rome", "has", "9 rivers"], "human_label": "Neutral"},
        ],
    },
    {
        "id": "8",
        "response": "Oslo is öld.",
        "claude2_response_kg": [
            {"triplet": ["Oslo", "is", "öld"], "human_label": "Neutral"},
            {"triplet": ["it", "is", "it"], "human_label": "bad triplet"},
        ],
    },
]
TOLD = {"setting": "zero_context", "dataset": "nq", "model": "gpt4"}


@pytest.fixture
def refchecker(tmp_path: Path) -> tuple[Path, Path]:
    """A run over the answers of two models, one answer alike in both, and a published file."""
    answers = [{k: row[k] for k in ("id", "response")} | TOLD for row in PUBLISHED]
    other = {**answers[0], "model": "llama"}
    given = [{**row, "contexts": "Rome. Oslo."} for row in (*answers, other)]
    file = tmp_path / "nq_gpt4_answers.json"
    file.write_text(json.dumps(PUBLISHED), "utf-8")
    return make_run(tmp_path, given), file


def test_refcheckers_file_comes_in_and_goes_out_as_it_was(
    refchecker: tuple[Path, Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    at, file = refchecker
    assert run(["review", str(at), "--import", str(file)]) == (0, "")
    assert "5 labels of 2 answers" in capfd.readouterr().err
    out = tmp_path / "out.json"
    command = ["review", str(at), "--format", "refchecker", "--export"]
    assert run([*command, str(out)]) == (0, "")
    assert json.loads(out.read_text("utf-8")) == [
        {**TOLD, "id": row["id"], "response": row["response"]}
        | {"claude2_response_kg": row["claude2_response_kg"]}
        for row in PUBLISHED
    ]
    # what was written is read again, and so is the flat form
    first = (at / "labels.jsonl").read_text().splitlines()
    flat = tmp_path / "out.jsonl"
    assert run([*command, str(flat)]) == (0, "")
    assert len(flat.read_text().splitlines()) == 5
    for written in (out, flat):
        (at / "labels.jsonl").unlink()
        assert run(["review", str(at), "--import", str(written)]) == (0, "")
        again = (at / "labels.jsonl").read_text().splitlines()
        assert [{**json.loads(line), "at": ""} for line in again] == [
            {**json.loads(line), "at": ""} for line in first
        ]
    labels = tmp_path / "labels.jsonl"
    assert run(["review", str(at), "--export", str(labels)]) == (0, "")
    told = [json.loads(line) for line in labels.read_text().splitlines()]
    assert [(row["label"], row["draw"]) for row in told] == [(1.0, "chosen"), (1.0, "chosen")]


@pytest.mark.parametrize(
    "change, told",
    [
        ({"id": None}, "id must be the answer's id, got null"),
        ({"response": 3}, "response must be a text, got 3"),
        ({"response": "Other."}, "id '8' with that response matches no answer of the run"),
        ({"claude2_response_kg": "x"}, "claude2_response_kg must be a list of claims, got 'x'"),
        ({"claude2_response_kg": [3]}, r"claude2_response_kg[0]: must be an object"),
        (
            {"claude2_response_kg": [{"triplet": ["a"], "human_label": "Neutral"}]},
            "claude2_response_kg[0]: triplet must be a list of three texts",
        ),
        (
            {"claude2_response_kg": [{"triplet": ["a", "b", "c"], "human_label": "no"}]},
            "claude2_response_kg[0]: human_label must be Entailment, Neutral, Contradiction or",
        ),
    ],
)
def test_a_row_that_cannot_be_imported_is_named_and_nothing_is_kept(
    refchecker: tuple[Path, Path], change: dict[str, Any], told: str
) -> None:
    at, file = refchecker
    file.write_text(json.dumps([PUBLISHED[0], {**PUBLISHED[1], **change}]), "utf-8")
    code, refusal = run(["review", str(at), "--import", str(file)])
    assert code == 1 and told in refusal, refusal
    assert f"{file}, row 1" in refusal, refusal
    assert not (at / "labels.jsonl").exists()


def test_the_same_answer_of_two_models_needs_the_model(
    refchecker: tuple[Path, Path], tmp_path: Path
) -> None:
    at, file = refchecker
    unnamed = tmp_path / "claims.json"
    unnamed.write_bytes(file.read_bytes())
    code, refusal = run(["review", str(at), "--import", str(unnamed)])
    assert code == 1 and "id '7' with that response matches several answers of the run" in refusal


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["--import", "nq_gpt4_answers.json", "--export", "out.jsonl"], "import first"),
        (["--import", "absent.json"], "absent.json"),
        (["--redact"], "redact"),
        (["--worst"], "--worst requires --export"),
        (
            ["--worst", "--export", "out.jsonl", "--format", "refchecker"],
            "--worst requires --format labels, not refchecker",
        ),
        (["--format", "refchecker"], "format"),
        (["--double", "0.5"], "--double requires two or more names in --annotators"),
        (["--double", "0.5", "--annotators", "ann"], "--double requires two or more names"),
        (
            ["--order", "risk", "--policy", "absent.toml"],
            "--policy has no effect with --order risk",
        ),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    refchecker: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    told: str,
) -> None:
    at, file = refchecker
    monkeypatch.chdir(file.parent)
    code, refusal = run(["review", str(at), *arguments])
    assert code == 1 and told in refusal
    assert not (at / "labels.jsonl").exists()


@pytest.mark.parametrize(
    "page",
    [
        ["--order", "risk"],
        ["--annotators", "ann,ben"],
        ["--double", "0.5"],
        ["--units", "sentence"],
        ["--policy", "absent.toml"],
        ["--show"],
        ["--host", "::1"],
        ["--port", "8080"],
    ],
)
@pytest.mark.parametrize("flag", ["--import", "--export"])
def test_an_option_of_the_page_is_refused_where_none_is_opened(
    tmp_path: Path, flag: str, page: list[str]
) -> None:
    """Before the run is looked at, which is not there."""
    file = tmp_path / "file.jsonl"
    code, refusal = run(["review", str(tmp_path / "absent"), flag, str(file), *page])
    assert code == 1
    assert refusal == f"{page[0]} cannot be combined with {flag}, which opens no page: remove it"
    assert not file.exists()


@pytest.fixture
def rated(tmp_path: Path) -> Path:
    """A run of two models of which 40 answers are labelled, drawn by strata."""
    given = [{**row, "group": "ab"[i % 2]} for i, row in enumerate(rows(60))]
    at = make_run(tmp_path, given)
    desk = ReviewService(items_of(at), ("ann",), order="neyman", budget=40)
    while (answer := desk.next("ann")) is not None:
        wrong = given[answer["row"]]["wrong"]
        label_all(desk, "ann", answer["row"], "contradicted" if wrong else "supported")
    desk.close()
    return at


def test_an_export_says_what_it_leaves_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = make_run(tmp_path, rows(3))
    desk = ReviewService(items_of(given), ("ann", "ben"), order="random", double=1.0)
    label_all(desk, "ann", 0, "supported")
    for who, label in (("ann", "supported"), ("ben", "contradicted")):
        label_all(desk, who, 1, label)
    desk.close()
    assert run(["review", str(given), "--export", str(tmp_path / "labels.jsonl")]) == (0, "")
    told = capsys.readouterr().err
    assert "2 answers: " in told
    assert "left out by tune and bench: 1 undecided (reviewers disagree" in told


def test_a_rate_is_printed_and_written_with_groups_and_what_more_labels_buy(
    rated: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "rate.json"
    command = ["rate", str(rated), "--budget", "40"]
    assert run([*command, "--json", str(out)]) == (0, "")
    told = json.loads(out.read_text())
    assert told["n"] == 40 and told["n_total"] == 60 and told["done"]
    assert told["ci_low"] <= 20 / 60 <= told["ci_high"]
    assert {k: set(v) for k, v in told["groups"].items()} == {
        "model": {"small", "large"},
        "group": {"a", "b"},
    }
    for group in told["groups"]["model"].values():
        assert group["n_total"] == 30 and group["ci_low"] <= group["rate"] <= group["ci_high"]
    assert sum(g["n"] for g in told["groups"]["model"].values()) == 40
    printed = capfd.readouterr().out
    assert "hallucinated: " in printed and "95 % interval" in printed
    assert "by model:" in printed and "by group:" in printed and "small: " in printed
    assert "of 60 answers" in printed
    # with less left than 25 answers there is nothing to buy; --json - leaves stdout to JSON
    assert told["more"] == []
    assert run([*command, "--json", "-", "--by", "model"]) == (0, "")
    found = capfd.readouterr()
    assert json.loads(found.out)["groups"].keys() == {"model"} and "hallucinated: " in found.err


def test_a_rate_that_is_narrow_enough_opens_no_page_and_says_what_more_would_buy(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    at = make_run(tmp_path, rows(90))
    desk = ReviewService(items_of(at), ("ann",), order="neyman", budget=90, width=0.5)
    count = 0
    while (answer := desk.next("ann")) is not None:
        wrong = answer["row"] % 3 == 0
        label_all(desk, "ann", answer["row"], "contradicted" if wrong else "supported")
        count += 1
    desk.close()
    assert 10 < count < 60
    assert run(["rate", str(at), "--budget", "90", "--width", "0.5", "--json", "-"]) == (0, "")
    found = capfd.readouterr()
    told = json.loads(found.out)
    assert told["ci_high"] - told["ci_low"] <= 0.5 and told["n"] == count
    widths = [m["width"] for m in told["more"]]
    assert told["more"][0]["labels"] == 25
    assert widths == sorted(widths, reverse=True) and widths[0] < 0.5
    assert "with labels like these: 25 more" in found.err


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["--budget", "5", "--width", "0"], "width"),
        (["--budget", "5", "--width", "1.5"], "width"),
        (["--budget", "5", "--width", "nan"], "width"),
        (["--budget", "5", "--annotators", "a,a"], "duplicate name"),
        (["--budget", "5", "--by", "modle"], "modle"),
    ],
)
def test_a_rate_is_refused_before_a_page_opens(
    rated: Path, arguments: list[str], told: str
) -> None:
    code, refusal = run(["rate", str(rated), *arguments])
    assert code == 1 and told in refusal
