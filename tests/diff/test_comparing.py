"""Two runs compared: the tests, the gate, the flips, and what is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from places import ROOT
from result_lines import line, write_lines
from scipy.stats import binomtest

from veridical import check
from veridical.diff import Diff, diff
from veridical.diff.comparing import MOST_FLIPS
from veridical.errors import UsageError


def files(folder: Path, a: list[dict[str, Any]], b: list[dict[str, Any]]) -> tuple[Path, Path]:
    return write_lines(folder / "a.jsonl", a), write_lines(folder / "b.jsonl", b)


def compare(folder: Path, a: list[Any], b: list[Any], **options: Any) -> Diff:
    return diff(*files(folder, a, b), **options)


def good(n: int) -> list[dict[str, Any]]:
    return [line(i) for i in range(n)]


def with_bad(n: int, bad: int, verdict: str = "contradicted") -> list[dict[str, Any]]:
    return [line(i, verdict, 0.9) if i < bad else line(i) for i in range(n)]


def endpoint(made: Diff, kind: str, name: str | None = None) -> Any:
    return next(e for e in made.endpoints if e.kind == kind and name in (None, e.name))


@pytest.mark.parametrize(("bad", "worse"), [(0, False), (4, False), (5, True), (20, True)])
def test_five_flips_one_way_make_a_run_worse(tmp_path: Path, bad: int, worse: bool) -> None:
    made = compare(tmp_path, good(30), with_bad(30, bad))
    assert made.gate is not None
    assert (made.gate.endpoint, made.gate.test, made.gate.n) == ("bad_share", "mcnemar", 30)
    assert made.gate.worse is worse
    assert made.gate.p == pytest.approx(0.5**bad)
    assert made.gate.difference == pytest.approx(bad / 30)


@pytest.mark.parametrize("verdict", ["contradicted", "unsupported", "inconsistent"])
def test_three_verdicts_are_bad(tmp_path: Path, verdict: str) -> None:
    made = compare(tmp_path, good(20), with_bad(20, 8, verdict))
    assert made.gate is not None and made.gate.worse
    share = endpoint(made, "verdict", verdict)
    assert (share.a, share.b, share.rises, share.falls) == (0, 0.4, 8, 0)
    assert share.p == pytest.approx(binomtest(8, 8).pvalue)
    assert share.test == "mcnemar"


def test_an_unclear_answer_is_not_worse_by_itself_and_its_share_is_told(tmp_path: Path) -> None:
    made = compare(tmp_path, good(20), with_bad(20, 8, "unclear"))
    assert made.gate is not None and not made.gate.worse and made.gate.difference == 0
    share = endpoint(made, "verdict", "unclear")
    assert (share.a, share.b) == (0, 0.4)


def test_runs_of_another_strictness_are_refused(tmp_path: Path) -> None:
    rows = [{"response": "It is red.", "contexts": ["It is red."]}]
    sides = []
    for strictness in ("balanced", "low"):
        sides.append(tmp_path / strictness)
        check(rows, "nli_grounding", strictness=strictness, out=sides[-1])  # type: ignore
    with pytest.raises(UsageError, match="differ in strictness: balanced and low"):
        diff(*sides)
    made = diff(*sides, allow_different=True)
    assert any("different thresholds" in note for note in made.notes)


def test_a_better_run_is_not_worse(tmp_path: Path) -> None:
    made = compare(tmp_path, with_bad(30, 10), good(30))
    assert made.gate is not None and not made.gate.worse and made.gate.p == 1.0
    assert made.n_flips == {"worse": 0, "better": 10, "other": 0}


@pytest.mark.parametrize(("tolerate", "worse"), [(0.0, True), (0.1, True), (0.3, False)])
def test_a_rise_may_be_tolerated(tmp_path: Path, tolerate: float, worse: bool) -> None:
    made = compare(tmp_path, good(100), with_bad(100, 25), tolerate=tolerate)
    assert made.gate is not None and made.gate.worse is worse
    assert made.gate.test == ("tango" if tolerate else "mcnemar")


@pytest.mark.parametrize("tolerate", [-0.1, 1, float("nan"), 5.0])
def test_what_is_tolerated_is_a_fraction(tmp_path: Path, tolerate: float) -> None:
    with pytest.raises(UsageError, match="tolerate"):
        compare(tmp_path, good(3), good(3), tolerate=tolerate)


def test_without_verdicts_the_mean_risk_counts(tmp_path: Path) -> None:
    a = [line(i, "unchecked", 0.2, reason="not_judged") for i in range(12)]
    b = [line(i, "unchecked", 0.5 + i / 100, reason="not_judged") for i in range(12)]
    made = compare(tmp_path, a, b)
    assert made.gate is not None
    assert (made.gate.endpoint, made.gate.test) == ("risk", "permutation")
    assert made.gate.worse and made.gate.p == pytest.approx(0.5**12)
    assert endpoint(made, "risk").p == pytest.approx(2 * 0.5**12)


def test_what_could_not_be_checked_is_no_improvement(tmp_path: Path) -> None:
    """Ten new errors are not offset by ten old ones that can no longer be checked."""
    a = with_bad(60, 10)
    b = [
        line(i, "unchecked") if i < 10 else line(i, "contradicted", 0.9) if i < 20 else line(i)
        for i in range(60)
    ]
    made = compare(tmp_path, a, b)
    assert made.gate is not None
    assert (made.gate.n, made.gate.lost, made.gate.worse) == (50, 10, True)
    assert any("could not check: 10" in note for note in made.notes)


def test_an_answer_that_states_nothing_is_not_bad(tmp_path: Path) -> None:
    b = [line(i, "unchecked", None, reason="no_statement") for i in range(20)]
    made = compare(tmp_path, with_bad(20, 20), b)
    assert made.gate is not None
    assert (made.gate.n, made.gate.a, made.gate.b, made.gate.lost) == (20, 1, 0, 0)


def test_nothing_to_compare(tmp_path: Path) -> None:
    made = compare(tmp_path, [line(0, "unchecked")], [line(0, "unchecked")])
    assert made.gate is None


def test_decisions_are_tested_by_mcnemar(tmp_path: Path) -> None:
    a = [line(i, decision="accept") for i in range(20)]
    b = [line(i, decision="reject" if i < 7 else "accept") for i in range(20)]
    made = compare(tmp_path, a, b)
    rejected = endpoint(made, "decision", "reject")
    assert (rejected.b, rejected.rises, rejected.test) == (0.35, 7, "mcnemar")
    assert rejected.p == pytest.approx(2 * 0.5**7)
    assert rejected.p_holm == pytest.approx(2 * rejected.p)  # accept and reject
    assert made.n_flips["worse"] == 7 and made.flips[0].b.decision == "reject"
    assert made.gate is not None and not made.gate.worse  # reported only


def test_rates_of_claims_and_holm_over_scorers(tmp_path: Path) -> None:
    a = [line(i, claims=(0.8, 0.1, 0.1)) for i in range(10)]
    b = [line(i, claims=(0.5, 0.1, 0.4)) for i in range(10)]
    made = compare(tmp_path, a, b)
    rate = endpoint(made, "claims", "contradiction")
    assert (rate.scorer, rate.test) == ("claims", "permutation")
    assert rate.difference == pytest.approx(0.3) and rate.p == pytest.approx(2 / 2**10)
    assert endpoint(made, "claims", "abstain").difference == 0
    scorers = [e for e in made.endpoints if e.kind == "scorer"]
    assert {e.name for e in scorers} == {"nli_grounding", "claims"}
    assert all(e.p_holm == 1.0 for e in scorers)


def test_flips_have_both_answers_the_worst_first(tmp_path: Path) -> None:
    a = [line(0, text="Was <b>."), line(1), line(2, "contradicted", 0.9), line(3)]
    b = [line(0, "unsupported", 0.6, text="Is."), line(1, "contradicted", 0.95),
         line(2), line(3, "unchecked")]  # fmt: skip
    made = compare(tmp_path, a, b)
    assert [f.id for f in made.flips] == ["1", "0", "3", "2"]
    assert [f.direction for f in made.flips] == ["worse", "worse", "other", "better"]
    flip = made.flips[1]
    assert (flip.a.answer, flip.b.answer, flip.b.whole) == ("Was <b>.", "Is.", False)
    assert flip.b.evidence[0].text == "So it is." and flip.b.line == 1
    assert flip.b.file.endswith("b.jsonl")


def test_of_very_many_flips_the_worst_are_kept(tmp_path: Path) -> None:
    n = MOST_FLIPS + 50
    made = compare(tmp_path, good(n), with_bad(n, n))
    assert len(made.flips) == MOST_FLIPS and made.n_flips["worse"] == n


def test_the_smallest_difference_that_could_have_been_shown(tmp_path: Path) -> None:
    few = compare(tmp_path, good(4), with_bad(4, 4))
    more = compare(tmp_path, good(100), good(100))
    assert few.gate is not None and few.gate.detectable is None and not few.gate.worse
    assert more.gate is not None and more.gate.detectable == pytest.approx(0.067, abs=0.002)


def test_gzip_and_the_same_shape_each_time(tmp_path: Path) -> None:
    a, b = files(tmp_path, good(8), with_bad(8, 6))
    packed = tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(b.read_bytes()))
    one, other = diff(a, b), diff(a, packed)
    assert one.gate == other.gate and one.endpoints == other.endpoints
    assert Diff.model_validate_json(one.model_dump_json()) == one


def test_different_signatures_are_refused(tmp_path: Path) -> None:
    b = [line(i, signature="nli_grounding|v1|nli:m@2") for i in range(5)]
    with pytest.raises(UsageError, match=r"nli:m@1 and .*nli:m@2.*allow_different"):
        compare(tmp_path, good(5), b)
    made = compare(tmp_path, good(5), b, allow_different=True)
    assert made.different[0].scorer == "nli_grounding"
    assert "not scored in the same way" in made.notes[-1]


def test_other_scorers_are_refused(tmp_path: Path) -> None:
    b = [line(i, claims=(1, 0, 0)) for i in range(5)]
    with pytest.raises(UsageError, match=r"only .*b\.jsonl has claims"):
        compare(tmp_path, good(5), b)


def test_a_failed_score_is_no_other_way_of_scoring(tmp_path: Path) -> None:
    b = [line(0, "unchecked"), *good(5)[1:]]
    assert compare(tmp_path, good(5), b).different == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"id": 1, "response": "yes"}', "check them first"),
        ('{"question": "Where?", "answer": "Here."}', "check them first"),
        ("[1, 2]", "not a result line"),
        ('{"id": 1', "not a result line"),
        ("", "contains no result"),
    ],
)
def test_files_that_are_no_results(tmp_path: Path, text: str, said: str) -> None:
    a = write_lines(tmp_path / "a.jsonl", good(2))
    b = tmp_path / "b.jsonl"
    b.write_text(text + "\n", "utf-8")
    with pytest.raises(UsageError, match=said):
        diff(a, b)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        diff(tmp_path / "none", tmp_path / "none")


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a readable run directory"):
        diff(tmp_path, tmp_path)


def test_result_files_have_no_field_to_split_by(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="split by"):
        compare(tmp_path, good(3), good(3), split_by="topic")


def test_an_unknown_option(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="pairing"):
        compare(tmp_path, good(3), good(3), pair_by="name")


def test_json_of_a_result_line_of_today_is_read(tmp_path: Path) -> None:
    found = json.loads((write_lines(tmp_path / "x", good(1))).read_text("utf-8"))
    assert set(found) == {"id", "row", "risk", "by", "verdict", "reason", "decision", "scores"}


def test_the_python_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_lines(Path("base.jsonl"), good(20))
    write_lines(Path("head.jsonl"), with_bad(20, 12))
    page = (ROOT / "docs" / "ci.md").read_text("utf-8")
    exec(page.partition("```python\n")[2].partition("```")[0], {})  # noqa: S102
    assert capsys.readouterr().out.splitlines()[0] == "worse 0 supported contradicted"
