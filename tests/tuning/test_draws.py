"""What may rest on labels, by how their answers were drawn."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veridical.cli import main
from veridical.errors import UsageError
from veridical.tuning.draws import Drawn, drawn, remarks, weighed


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"draw": "random", "draw_probability": 0.25}, Drawn("random", 0.25)),
        ({"draw": "neyman", "draw_probability": "0.5"}, Drawn("neyman", 0.5)),
        ({"draw": "chosen", "draw_probability": None}, Drawn("chosen", None)),
        ({"draw": "random"}, None),  # a column of somebody else's
        ({"label": 1}, None),
    ],
)
def test_what_a_row_says_of_its_draw(row: dict[str, Any], expected: Drawn | None) -> None:
    assert drawn(row) == expected


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"draw": "lottery", "draw_probability": 1}, "must be random, neyman, chosen"),
        ({"draw": "random", "draw_probability": None}, "needs a draw_probability"),
        ({"draw": "random", "draw_probability": 0}, "above 0 and at most 1"),
        ({"draw": "neyman", "draw_probability": "nan"}, "above 0 and at most 1"),
        ({"draw": "chosen", "draw_probability": 0.5}, "empty where draw is chosen"),
    ],
)
def test_contradictions_are_refused(row: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        drawn(row)


def test_stratified_answers_count_by_the_inverse_of_their_probability() -> None:
    class Some:
        """As many targets as rows."""

        def __init__(self, rows: list[int]) -> None:
            self.rows = np.array(rows)

        def __len__(self) -> int:
            return len(self.rows)

        def take(self, places: np.ndarray) -> list[int]:
            return list(self.rows[places])

    some: Any = Some([0, 1, 2])
    draws = {0: Drawn("neyman", 0.5), 1: Drawn("neyman", 0.25), 2: Drawn("neyman", 0.1)}
    assert weighed(some, draws) == [0, 1, 1, 2, 2, 2, 2, 2]  # 2 : 4 : 10
    assert weighed(some, {i: Drawn("random", 0.3) for i in range(3)}) is None
    assert weighed(some, {**draws, 1: Drawn("chosen", None)}) is None
    assert remarks({0: Drawn("chosen", None)}, np.array([0, 1])) == [
        "1 of 2 labelled answers were chosen and not drawn: figures are of these answers, not of "
        "all answers of the run"
    ]


def test_no_promise_rests_on_labels_that_were_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"id": i, "response": f"It is {i}.", "contexts": [f"It is {i}."]} for i in range(40)]
    Path("in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    labels = [
        {"row": i, "id": i, "label": i % 2, "draw": "chosen", "draw_probability": None}
        for i in range(40)
    ]
    Path("labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in labels))
    command = ["veridical", "tune", "in.jsonl", "--labels", "labels.jsonl", "--alpha", "0.2"]
    monkeypatch.setattr(sys, "argv", [*command, "--out", "e.json", "--scorers", "knowledge_f1"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 1 and not Path("e.json").exists()
    told = " ".join(capsys.readouterr().err.split())
    assert "no guarantee (--alpha) can rest on their labels" in told
