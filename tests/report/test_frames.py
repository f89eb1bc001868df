"""Results as frames: every row of the input is there, as it was, with what was found out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import veridical
from veridical import Record, UsageError
from veridical.files import rundir
from veridical.report import frames
from veridical.report.frames import ADDED

SOURCE = "Canberra is the capital of Australia. Sydney is its largest city."
ROWS: list[dict[str, Any]] = [
    {"n": 1, "response": "Canberra is the capital of Australia.", "contexts": [SOURCE]},
    {"n": 2, "response": 3, "contexts": [SOURCE]},
    {"n": 3, "response": "Perth is in Spain.", "contexts": [SOURCE], "tag": {"a": 1}},
    {"n": 4, "response": "I do not know.", "contexts": [SOURCE], "tag": None},
    {"n": 5, "response": "It is so."},
]


def known(values: Any) -> list[bool]:
    """Which values there are: no None and no NaN."""
    return [v is not None and v == v for v in values]


def check_added(frame: Any, results: veridical.Results, prefix: str = "") -> None:
    """The added columns of ROWS' frame, its values by column name."""
    by_row = {r.row: r for r in results}
    assert list(frame[prefix + "verdict"])[1] == "unchecked"
    for row, result in by_row.items():
        worst = result.worst
        risk = list(frame[prefix + "risk"])[row]
        assert list(frame["verdict"])[row] == result.verdict
        assert (
            risk == pytest.approx(result.risk)
            if result.risk is not None
            else risk != risk or (risk is None)
        )
        if worst is not None:
            assert list(frame["worst_sentence"])[row] == worst.text
            evidence = worst.evidence[0].text if worst.evidence else None
            assert list(frame["evidence"])[row] == evidence or evidence is None
    assert known(frame["error"]) == [False, True, False, False, True]
    assert "row 1: field 'response': must be text, got 3" in list(frame["error"])[1]
    assert "nothing to check" in list(frame["error"])[4]


def test_pandas_keeps_index_columns_and_types() -> None:
    data = pd.DataFrame(ROWS, index=pd.Index(["e", "d", "c", "b", "a"], name="key"))
    data["n"] = data["n"].astype("Int8")
    data["when"] = pd.Timestamp("2020-01-01")
    results = veridical.check(data, "claims")
    before = data.copy()
    data["later"] = 1  # the caller's frame goes its own ways
    data.loc["e", "response"] = "changed"
    frame = results.to_pandas()
    assert list(frame.columns) == [*before.columns, *ADDED]
    pd.testing.assert_frame_equal(frame[list(before.columns)], before)
    check_added(frame, results)
    assert frame.index.name == "key" and frame["risk"].dtype == "float64"
    frame["verdict"] = "mine"
    assert set(results.to_pandas()["verdict"]) != {"mine"}


def test_an_index_with_a_value_twice_keeps_its_order() -> None:
    data = pd.DataFrame(ROWS, index=[7, 7, 7, 0, 0])
    frame = veridical.check(data, "claims").to_pandas()
    assert list(frame.index) == [7, 7, 7, 0, 0] and list(frame["n"]) == [1, 2, 3, 4, 5]
    assert known(frame["error"]) == [False, True, False, False, True]


@pytest.mark.parametrize("kind", ["list", "records", "polars", "arrow", "file"])
def test_every_kind_of_input_gives_every_kind_of_frame(kind: str, tmp_path: Path) -> None:
    rows = [row for row in ROWS if row["n"] != 2]
    data: Any = rows
    if kind == "records":
        data = [Record(response=r["response"], contexts=r.get("contexts")) for r in rows]
    elif kind == "polars":
        data = pl.DataFrame(rows)
    elif kind == "arrow":
        data = pa.Table.from_pylist(rows)
    elif kind == "file":
        data = tmp_path / "rows.jsonl"
        pl.DataFrame(rows).write_ndjson(data)
    results = veridical.check(data, "claims")
    pandas, polars, arrow = results.to_pandas(), results.to_polars(), results.to_arrow()
    assert list(pandas.columns) == polars.columns == arrow.column_names
    assert polars["verdict"].to_list() == arrow["verdict"].to_pylist() == list(pandas["verdict"])
    assert polars["risk"].to_list() == arrow["risk"].to_pylist()
    assert list(pandas["response"]) == [row["response"] for row in rows]
    if kind != "records":
        assert polars["n"].to_list() == [1, 3, 4, 5] and arrow["n"].type == pa.int64()
    if kind == "polars":
        assert polars.select(data.columns).equals(data)
    if kind == "arrow":
        assert arrow.select(data.column_names).equals(data)


def test_rows_of_a_list_keep_their_columns_bad_ones_too() -> None:
    results = veridical.check([*ROWS, "no object"], "claims")
    frame = results.to_pandas()
    assert list(frame.columns) == ["n", "response", "contexts", "tag", *ADDED]
    assert frame["response"][1] == 3 and list(frame.index) == [0, 1, 2, 3, 4, 5]
    check_added(frame[:5], results)
    assert "must be an object" in frame["error"][5] and known(frame["n"])[5] is False
    arrow = results.to_arrow()  # a column of several types is text there
    assert arrow["response"].to_pylist()[:2] == [ROWS[0]["response"], "3"]
    assert arrow["tag"].to_pylist()[2] == {"a": 1}


def test_a_name_that_is_taken_gets_a_prefix() -> None:
    data = [{"response": "a", "samples": ["a"], "risk": "mine", "error": 0}]
    results = veridical.check(data, "exact_match")
    frame = results.to_pandas()
    assert list(frame["risk"]) == ["mine"] and list(frame["veridical_risk"]) == [0.0]
    assert "veridical_error" in frame and "veridical_verdict" not in frame
    assert results.to_polars().columns == list(frame.columns)
    taken = [{**data[0], "veridical_risk": 1}]
    with pytest.raises(UsageError, match="'risk' and 'veridical_risk'; rename one"):
        veridical.check(taken, "exact_match").to_pandas()


def test_rows_beyond_the_limit_have_no_verdict() -> None:
    results = veridical.check(ROWS, "claims", limit=2)
    frame = results.to_polars()
    assert frame["verdict"].to_list() == [results[0].verdict, "unchecked", None, None, None]
    assert len(frame) == 5 and frame["error"].to_list()[2:] == [None, None, None]


def test_a_decision_is_a_column_where_there_is_a_policy(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text("accept = 0.5\n")
    frame = veridical.check(ROWS, "claims", policy=policy).to_arrow()
    assert frame.column_names[-1] == "decision" and frame["decision"].to_pylist()[1] is None
    assert frame["decision"].to_pylist()[0] == "accept"


def test_more_row_errors_than_are_kept_all_have_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rundir, "MOST_ERRORS", 2)
    rows = [{"response": 3} for _ in range(5)] + [{"response": "a"}] * 2
    results = veridical.check(rows, "exact_match", limit=6)
    errors = results.to_polars()["error"].to_list()
    assert results.counted_errors == 3
    assert ["must be text" in (e or "") for e in errors] == [True] * 5 + [False, False]


def test_a_file_that_has_changed_is_not_taken_for_what_was_checked(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"response": "a", "samples": ["a"]}\n')
    results = veridical.check(path, "exact_match")
    path.write_text('{"response": "b", "samples": ["a"]}\n')
    with pytest.raises(UsageError, match="has changed"):
        results.to_pandas()


def test_answers_to_prompts_are_a_column() -> None:
    from veridical.llm.fake import FakeLlm

    rows = [{"prompt": "Where?"}, {"prompt": "When?"}]
    results = veridical.check(rows, "exact_match", llm=FakeLlm("In Mali."), samples=2)
    frame = results.to_polars()
    assert frame.columns[:2] == ["prompt", "response"]
    assert frame["response"].to_list() == ["In Mali."] * 2


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_library_that_is_not_there_is_named(library: str) -> None:
    code = (
        f"import sys; sys.modules['{library}'] = None\n"
        "import veridical\n"
        "results = veridical.check([{'response': 'a'}], 'exact_match', store=None)\n"
        f"try: results.to_{library}()\n"
        "except veridical.UsageError as e: print(e)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == f"to_{library}() needs {library}: pip install {library}\n", done.stderr


def test_values_that_no_column_of_arrow_holds_become_text() -> None:
    column = frames._arrow([{1: "a"}, "text", None, float("nan"), object])
    assert column.to_pylist()[:3] == ['{"1": "a"}', "text", None]
