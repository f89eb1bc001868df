"""Labels as other commands read them, and RefChecker's triplets there and back."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from image_files import DOT
from review_runs import items_of, label_all, make_run, rows

import veridical
from veridical.errors import UsageError
from veridical.review.export import export, export_rows, labels_of, unlabelled_line
from veridical.review.service import ReviewService
from veridical.review.triplets import export_triplets, import_triplets


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("export"), rows(30))


@pytest.fixture
def desk(run: Path) -> Any:
    (run / "labels.jsonl").unlink(missing_ok=True)
    desk = ReviewService(items_of(run), ("ann", "ben"), order="random", double=1.0)
    yield desk
    desk.close()


def test_a_row_has_what_tune_and_bench_read(desk: ReviewService, run: Path, tmp_path: Path) -> None:
    label_all(desk, "ann", 3, "supported", "contradicted")
    label_all(desk, "ben", 3, "supported", "contradicted")
    label_all(desk, "ann", 4, "not_a_claim", "supported")
    assert export(veridical.api.reopen(run), tmp_path / "out.jsonl") == 2
    first, second = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    given = rows(30)[3]
    assert (first["row"], first["id"], first["label"]) == (3, "q3", 1.0)
    assert first["response"] == given["response"] and first["prompt"] == given["prompt"]
    assert [u["label"] for u in first["unit_labels"]] == [0.0, 1.0]
    assert [e["who"] for e in first["labels"]] == ["ann", "ann", "ben", "ben"]
    assert second["label"] == 0.0 and [u["label"] for u in second["unit_labels"]] == [0.0]
    again = veridical.check(
        tmp_path / "out.jsonl", "support", store=None, processes=0, out=tmp_path / "again"
    )
    records = [record for record, _ in again.pairs()]
    assert [r.label for r in records] == [1.0, 0.0]
    assert records[0].unit_labels is not None and len(records[0].unit_labels) == 2


def test_an_answer_with_an_image_keeps_it(tmp_path: Path) -> None:
    given = rows(1)[0]
    given["response"] = {"text": given["response"], "image": DOT}
    given["samples"] = [{"image": DOT}]
    desk = ReviewService(
        items_of(make_run(tmp_path, [given])), ("ann",), order="random", double=1.0
    )
    try:
        label_all(desk, "ann", 0, "supported")
        (row,) = export_rows(desk.items, desk.labels)
    finally:
        desk.close()
    assert (row["response"], row["samples"]) == (given["response"], given["samples"])


def test_disagreements_are_left_out_until_they_are_decided(desk: ReviewService) -> None:
    label_all(desk, "ann", 3, "supported")
    label_all(desk, "ben", 3, "supported", "contradicted")
    (row,) = export_rows(desk.items, desk.labels)
    assert unlabelled_line(desk.labels) == (
        "without a label, so left out by tune and bench: 1 undecided (reviewers "
        "disagree: adjudicate "
        "on the review page)"
    )
    assert "label" not in row and row["disagreements"] == 1 and len(row["unit_labels"]) == 1
    (row_of_worst,) = export_rows(desk.items, desk.labels, worst=True)
    assert row_of_worst["label"] == 1.0 and len(row_of_worst["unit_labels"]) == 2
    assert unlabelled_line(desk.labels, worst=True) is None
    case = desk.agreement()["open"][0]
    desk.adjudicate("adjudicator", 3, case["unit"], "contradicted")
    (row,) = export_rows(desk.items, desk.labels)
    assert row["label"] == 1.0 and row["disagreements"] == 0
    assert unlabelled_line(desk.labels) is None
    assert {e["label"] for e in row["labels"]} == {"supported", "contradicted"}  # both are kept


def test_redacted_exports_have_no_name_and_no_comment(desk: ReviewService) -> None:
    label_all(desk, "ann", 3, "supported")
    label_all(desk, "ben", 3, "supported")
    desk.comment("ann", 3, "I, Ann, say so.")
    plain = json.dumps(list(export_rows(desk.items, desk.labels)))
    assert '"ann"' in plain and "I, Ann" in plain
    hidden = list(export_rows(desk.items, desk.labels, redact=True))
    text = json.dumps(hidden)
    assert '"ann"' not in text and '"ben"' not in text and "Ann" not in text
    assert {e["who"] for e in hidden[0]["labels"]} == {"annotator 1", "annotator 2"}


def test_draws_are_told_as_they_were(desk: ReviewService) -> None:
    order = [desk.items.rows[p] for p in desk.queue.chances.permutation]
    for _ in range(6):
        told = desk.next("ann")
        assert told is not None
        label_all(desk, "ann", told["row"], "supported")
    for row in (order[6], order[20]):
        label_all(desk, "ann", row, "supported")
    told = {row["row"]: row for row in export_rows(desk.items, desk.labels)}
    assert all(told[row]["draw"] == "random" for row in order[:6])
    assert all(told[row]["draw_probability"] == pytest.approx(6 / 30) for row in order[:6])
    for row in (order[6], order[20]):
        assert (told[row]["draw"], told[row]["draw_probability"]) == ("chosen", None)


def test_stratified_draws_have_the_probability_of_their_stratum(run: Path) -> None:
    (run / "labels.jsonl").unlink(missing_ok=True)
    desk = ReviewService(items_of(run), ("ann",), order="neyman", budget=27)
    while (told := desk.next("ann")) is not None:
        label_all(desk, "ann", told["row"], "supported", "contradicted")
    found = [r for r in export_rows(desk.items, desk.labels) if r["draw"] == "neyman"]
    assert len(found) == 27
    by_probability = Counter(r["draw_probability"] for r in found)
    assert sum(n / p for p, n in by_probability.items()) == pytest.approx(30)  # all answers
    desk.close()


def test_nothing_to_export_is_an_error(desk: ReviewService, run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no answer is finished"):
        export(veridical.api.reopen(run), tmp_path / "out.jsonl")
    label_all(desk, "ann", 3, "supported")
    with pytest.raises(UsageError, match="no triplet has a label"):
        export(veridical.api.reopen(run), tmp_path / "out.jsonl", triplets=True)
    assert not (tmp_path / "out.jsonl").exists()


CLAIMS = [
    ("gpt4", ["Rome", "is", "a city"], "Entailment"),
    ("gpt4", ["Rome", "has", "9 rivers"], "Contradiction"),
    ("llama", ["Rome", "is", "old"], "Neutral"),
    ("llama", ["it", "is", "it"], "bad triplet"),
]


def refchecker_rows() -> list[dict[str, Any]]:
    return [
        {
            "setting": "zero_context",
            "dataset": "nq",
            "model": model,
            "id": "7",
            "response": "Rome is a city.",
            "triplet": triplet,
            "human_label": label,
        }
        for model, triplet, label in CLAIMS
    ]


def refchecker_run(folder: Path) -> Path:
    answers = [
        {k: row[k] for k in ("setting", "dataset", "model", "id", "response")}
        | {"contexts": "Rome."}
        for row in refchecker_rows()[::2]
    ]
    return make_run(folder, answers, "refchecker")


def test_refcheckers_triplets_come_and_go_in_its_format(tmp_path: Path) -> None:
    run = refchecker_run(tmp_path)
    flat = tmp_path / "claims.jsonl"
    flat.write_text("".join(json.dumps(row) + "\n" for row in refchecker_rows()))
    items = items_of(run)
    desk = ReviewService(items, ("reviewer",))
    desk.add(*import_triplets(flat, items))
    desk.close()
    labels = labels_of(items.results)
    assert list(export_triplets(items, labels)) == refchecker_rows()
    exported = list(export_rows(items, labels))
    assert [row["label"] for row in exported] == [1.0, 1.0]
    assert [row["draw"] for row in exported] == ["random", "random"]  # the whole run is labelled


def test_the_published_form_of_triplets_is_read_too(tmp_path: Path) -> None:
    run = refchecker_run(tmp_path)
    claims = [{"triplet": t, "human_label": v} for m, t, v in CLAIMS if m == "gpt4"]
    answer = {"id": "7", "response": "Rome is a city.", "claude2_response_kg": claims}
    nested = tmp_path / "answers.json"
    nested.write_text(json.dumps([answer]))
    with pytest.raises(UsageError, match="several answers of the run"):
        import_triplets(nested, items_of(run))
    nested.write_text(json.dumps([{**answer, "model": "gpt4"}]))
    named = tmp_path / "nq_gpt4_answers.json"  # tells setting, data set and model
    named.write_text(json.dumps([answer]))
    for file in (nested, named):
        events = import_triplets(file, items_of(run))
        assert [e.label for e in events if e.event == "label"] == ["supported", "contradicted"]


@pytest.mark.parametrize(
    "change, told",
    [
        ({"id": "8"}, "no answer of the run"),
        ({"response": "Other."}, "no answer of the run"),
        ({"triplet": ["a", "b"]}, "list of three texts"),
        ({"triplet": "a b c"}, "list of three texts"),
        ({"human_label": "Yes"}, "human_label must be"),
        ({"human_label": None}, "human_label must be"),
    ],
)
def test_a_wrong_row_of_triplets_is_told(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    run = refchecker_run(tmp_path)
    flat = tmp_path / "claims.jsonl"
    good, *others = refchecker_rows()
    flat.write_text("".join(json.dumps(row) + "\n" for row in (good, {**others[0], **change})))
    with pytest.raises(UsageError, match=f"claims.jsonl, line 2: .*{told}"):
        import_triplets(flat, items_of(run))


@pytest.mark.data
def test_all_of_refcheckers_labels_come_and_go(shared_data: Path, tmp_path: Path) -> None:
    """10 733 triplets of the 1905 answers that have any, each as it was."""
    source = shared_data / "refchecker"
    out = tmp_path / "run"
    veridical.check(source / "responses.jsonl", "ngram_presence", store=None, processes=0, out=out)
    items = items_of(out)
    desk = ReviewService(items, ("reviewer",))
    desk.add(*import_triplets(source / "claims.jsonl", items))
    desk.close()
    keys = ("setting", "dataset", "model", "id", "response", "human_label")
    given = [json.loads(line) for line in (source / "claims.jsonl").read_text().splitlines()]
    found = list(export_triplets(items, labels_of(items.results)))

    def counted(rows: list[dict[str, Any]]) -> Counter[Any]:
        return Counter((*(row[k] for k in keys), *row["triplet"]) for row in rows)

    assert len(given) == 10_733
    assert counted(found) == counted(given)
