"""Results read back from a run directory: order, frames, report rows, and their end."""

from __future__ import annotations

import gc
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import veridical
from veridical.errors import UsageError
from veridical.report import results as module

WORDS = ["river", "town", "mayor", "bridge", "market", "school", "temple", "museum", "island"]


def rows(n: int) -> list[dict[str, Any]]:
    rng = random.Random(8)

    def text() -> str:
        return " ".join(rng.choices(WORDS, k=6)) + f" {rng.randint(1, 40)}."

    return [
        {"id": f"r{i}", "response": text(), "samples": [text() for _ in range(i % 4)]}
        for i in range(n)
    ]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> veridical.Results:
    out = tmp_path_factory.mktemp("run") / "r"
    data = [*rows(90), {"prompt": "no answer"}, *rows(9)]
    return veridical.check(data, "exact_match, ngram, support", out=out)


def test_iterating_twice_gives_the_same_in_input_order(run: veridical.Results) -> None:
    first = [r.row for r in run]
    assert first == [*range(90), *range(91, 100)] == [r.row for r in run]
    assert len(run) == 99 and [json.loads(x)["row"] for x in run.lines()] == first
    (error,) = run.errors()
    assert (error.row, run.summary().row_errors) == (90, 1)
    assert run.summary() is run.summary()


def test_a_cross_table_is_of_the_units_that_both_scorers_have(run: veridical.Results) -> None:
    def risks(name: str) -> dict[tuple[int, int], float]:
        return {
            (r.row, u.start): u.risk
            for r in run
            for u in r.scores[name].units
            if u.level == "sentence" and u.risk is not None
        }

    ngram, support = risks("ngram"), risks("support")
    both = sorted(set(ngram) & set(support))
    expected = Counter((ngram[p] >= 0.4, support[p] >= 0.4) for p in both)
    assert len(expected) > 1 and run.cross_table("ngram", "support", at=0.4) == expected
    answers = run.cross_table("exact_match", "exact_match")  # it has no units
    scored = [r.scores["exact_match"].risk for r in run]
    known = [risk for risk in scored if risk is not None]
    assert answers[True, True] == sum(risk >= 0.5 for risk in known)
    assert answers.total() == len(known) and answers[True, False] == 0
    with pytest.raises(UsageError, match="scorer of this run 'ngrm'; did you mean 'ngram'"):
        run.cross_table("ngrm", "support")


def test_few_records_are_all_shown(run: veridical.Results) -> None:
    assert run._choose_rows() == (None, None)


@pytest.mark.parametrize("most", [20, 60])
def test_the_riskiest_and_a_random_draw_are_shown(
    run: veridical.Results, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(module, "REPORT_RECORDS", most)
    chosen, said = run._choose_rows()
    assert chosen is not None
    # by hand: without a risk counts as least risky; of equals, the earlier row
    order = sorted(run, key=lambda r: (-(-1.0 if r.risk is None else r.risk), r.row))
    worst = {r.row for r in order[: most // 2]}
    assert worst <= chosen
    assert most // 2 <= len(chosen) <= most
    assert len(chosen - worst) > most // 8  # the draw adds others
    assert chosen <= {r.row for r in run}
    assert said == f"the {most // 2} riskiest and {most // 2} drawn at random of 99 records"
    assert run._choose_rows() == (chosen, said)  # the same every time


def test_the_draw_is_fair(run: veridical.Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each record is drawn with the same probability: half of REPORT_RECORDS over all."""
    monkeypatch.setattr(module, "REPORT_RECORDS", 30)
    rng = random.Random(1)
    times = dict.fromkeys((r.row for r in run), 0)
    order = sorted(run, key=lambda r: (-(-1.0 if r.risk is None else r.risk), r.row))
    worst = {r.row for r in order[:15]}
    draws = 300
    for _ in range(draws):
        seed = rng.random()
        monkeypatch.setattr(module.random, "Random", lambda _, s=seed: _Seeded(s))
        chosen, _ = run._choose_rows()
        for row in (chosen or set()) - worst:
            times[row] += 1
    others = [n for row, n in times.items() if row not in worst]
    expected = draws * 15 / 99
    spread = (expected * (1 - 15 / 99)) ** 0.5
    assert all(abs(n - expected) < 5 * spread for n in others)
    assert abs(sum(others) / len(others) - expected) < spread


_Seeded = random.Random


def test_pairs_join_each_result_with_its_own_record(run: veridical.Results) -> None:
    pairs = list(run.pairs({3, 89, 91, 99}))
    assert [(record.row, result.row) for record, result in pairs] == [
        (i, i) for i in (3, 89, 91, 99)
    ]
    assert list(run.pairs(set())) == []
    assert [result.row for _, result in run.pairs({90, 99})] == [99]
    data = [*rows(90), None, *rows(9)]
    for record, result in run.pairs():
        row = data[result.row]
        assert row is not None and record.response == row["response"]


def test_pairs_show_only_the_samples_that_were_used(tmp_path: Path) -> None:
    results = veridical.check(rows(8), "exact_match", samples=1)
    assert [len(record.samples) for record, _ in results.pairs()] == [0, 1, 1, 1] * 2
    assert results.report(tmp_path / "r.html").stat().st_size > 10_000


def test_a_report_of_part_says_so(
    run: veridical.Results, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "REPORT_RECORDS", 10)
    page = run.report(tmp_path / "part.html", title="A part").read_text("utf-8")
    assert "5 riskiest and 5 drawn at random of 99 records" in page and "A part" in page
    monkeypatch.setattr(module, "REPORT_RECORDS", 1000)
    whole = run.report(tmp_path / "whole.html").read_text("utf-8")
    assert "drawn at random" not in whole and len(whole) > len(page)


def test_wide_columns_hold_each_score(run: veridical.Results) -> None:
    table = run.to_arrow(wide=True)
    names = ["exact_match", "ngram", "support"]
    parts = [n + p for n in names for p in ("", ".raw", ".status", ".reason")]
    added = ["verdict", "risk", "worst_sentence", "evidence", "error", "decision", "by"]
    assert table.column_names == ["id", "response", "samples", "prompt", *added, *parts]
    kinds = {n: str(table.schema.field(n).type) for n in table.column_names}
    assert {kinds[n] for n in ["risk", *names, *(n + ".raw" for n in names)]} == {"double"}
    assert {kinds[n + p] for n in names for p in (".status", ".reason")} == {"string"}
    by_row = {result.row: result for result in run}
    for place, row in enumerate(table.to_pylist()):
        result = by_row.get(place)
        if result is None:
            assert (row["prompt"], row["verdict"]) == ("no answer", "unchecked")
            assert "field 'response': is missing" in row["error"] and row["ngram"] is None
            continue
        assert (row["id"], row["risk"], row["by"]) == (str(result.id), result.risk, result.by)
        for name in names:
            score = result.scores[name]
            assert row[name] == score.risk and row[name + ".status"] == score.status
            assert row[name + ".reason"] == score.reason
            assert row[name + ".raw"] == pytest.approx(score.raw) or score.status != "scored"


def test_arrow_of_bad_rows_and_of_nothing_but_nulls() -> None:
    bad = veridical.check([{"response": 1}], "exact_match").to_arrow(wide=True)
    assert bad.num_rows == 1 and str(bad.schema.field("exact_match").type) == "double"
    nulls = veridical.check([{"response": "a"}], "exact_match").to_arrow(wide=True)
    assert nulls["exact_match"].to_pylist() == [None]
    assert str(nulls.schema.field("exact_match.raw").type) == "double"


def test_raw_objects_give_their_headline() -> None:
    data = [{"response": "In Mali.", "samples": ["In Mali.", "In Chad."]}]
    results = veridical.check(data, "checkembed, cosine", processes=0)
    (row,) = results.to_arrow(wide=True).to_pylist()
    (result,) = results
    raw = result.scores["checkembed"].raw
    assert isinstance(raw, dict) and row["checkembed.raw"] in raw.values()
    assert row["cosine.raw"] == pytest.approx(result.scores["cosine"].raw)


def test_a_temporary_run_goes_with_its_results() -> None:
    results = veridical.check(rows(5), "exact_match")
    path = results.path
    assert results.temporary and path.is_dir() and len(list(results)) == 5
    iterator = iter(results)
    next(iterator)
    del results, iterator
    gc.collect()
    assert not path.exists()


def test_a_named_run_stays(tmp_path: Path) -> None:
    results = veridical.check(rows(5), "exact_match", out=tmp_path / "r")
    lines = list(results.lines())
    assert not results.temporary
    del results
    gc.collect()
    kept = [json.loads(x) for x in (tmp_path / "r" / "results.jsonl").read_bytes().splitlines()]
    assert all(x.pop("seal") and x.pop("record") for x in kept)
    assert kept == [json.loads(x) for x in lines]


def test_two_results_of_one_engine_do_not_share_a_folder() -> None:
    with veridical.Engine() as engine:
        one = veridical.check(rows(3), "exact_match", engine=engine)
        two = veridical.check(rows(3), "exact_match", engine=engine)
        path = one.path
        assert path != two.path
        del one
        gc.collect()
        assert not path.exists() and len(list(two)) == 3


def test_only_some_verdicts_are_shown(
    run: veridical.Results, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    by_verdict: dict[str, set[int]] = {}
    for result in run:
        by_verdict.setdefault(result.verdict, set()).add(result.row)
    assert len(by_verdict) == 1  # lexical scorers alone give no verdict
    rows_, said = run._choose_rows(frozenset({"unchecked"}))
    assert rows_ == by_verdict["unchecked"] and said == "the 99 unchecked records of 99"
    assert run._choose_rows(frozenset({"contradicted", "unsupported"})) == (
        set(),
        "the 0 contradicted, unsupported records of 99",
    )
    monkeypatch.setattr(module, "REPORT_RECORDS", 10)
    rows_, said = run._choose_rows(frozenset({"unchecked", "supported"}))
    assert said == "the 5 riskiest and 5 drawn at random of 99 supported, unchecked records"
    page = run.report(tmp_path / "only.html", only=["unsupported"]).read_text("utf-8")
    assert "Shown here: the 0 unsupported records of 99." in page


@pytest.mark.parametrize(
    ("only", "message"),
    [
        (["unsuported"], "unknown verdict in only 'unsuported'; did you mean 'unsupported'"),
        ([], "only contains no verdict; choose among contradicted, unsupported"),
    ],
)
def test_verdicts_to_show_are_checked_before_anything_is_written(
    run: veridical.Results, tmp_path: Path, only: list[str], message: str
) -> None:
    with pytest.raises(veridical.UsageError, match=message):
        run.report(tmp_path / "r.html", only=only)
    assert not (tmp_path / "r.html").exists()


def test_a_run_in_which_nothing_has_a_verdict_says_so_first(
    run: veridical.Results, tmp_path: Path
) -> None:
    page = run.report(tmp_path / "r.html").read_text("utf-8")
    body = page[page.index("<main>") : page.index('id="records"')]
    assert "could be checked" in body and "No answer has a verdict, only a risk." in body
    assert "✓" not in body
