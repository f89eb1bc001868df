"""A kind of model is one row: a token classifier is added here by a row and its back end."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veridical
from veridical import plugins
from veridical.core.evidence import Evidence
from veridical.core.kinds import KINDS, Kind, costs
from veridical.core.protocols import Window
from veridical.core.records import Record
from veridical.core.registry import REGISTRY, scorer
from veridical.core.scores import Score
from veridical.engine.back_ends import BACK_ENDS, BackEnd
from veridical.engine.engine import Engine
from veridical.errors import ModelError, UsageError

_WORD = re.compile(r"\w+|[^\w\s]")
_FEATURES = 3  # capital first letter, a digit in it, a mark
_MOST = 6  # tokens of a window


class TokenClassifier:
    """A linear classifier of a word's shape: P(the token is part of a name or a number)."""

    workers, batch_tokens = 1, 32

    def __init__(self, folder: Path) -> None:
        file = folder / "weights.npz"
        if not file.is_file():
            raise ModelError(f"{folder} has no weights.npz")
        self._weights = dict(np.load(file))
        self.name, self.revision = folder.name, str(float(self._weights["bias"]))
        self.batches: list[int] = []

    def windows(self, requests: Sequence[str]) -> list[list[Window]]:
        split = [_WORD.findall(text) for text in requests]
        return [
            [
                Window(len(words[i : i + _MOST]), words[i : i + _MOST])
                for i in range(0, max(len(words), 1), _MOST)
            ]
            for words in split
        ]

    def run(self, batch: Sequence[Window]) -> list[Any]:
        self.batches.append(len(batch))
        outputs = []
        for window in batch:
            shapes = np.zeros((len(window.content), _FEATURES))
            for i, word in enumerate(window.content):
                shapes[i] = word[0].isupper(), any(map(str.isdigit, word)), not word.isalnum()
            logits = shapes @ self._weights["kernel"] + self._weights["bias"]
            outputs.append(1 / (1 + np.exp(-logits)))
        return outputs

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> Any:
        return np.concatenate(outputs).astype(np.float32)

    def pretend(self, window: Window) -> Any:
        return np.full(window.length, 0.5)


LOADED: list[TokenClassifier] = []


def load(spec: str, *, threads: int | None = None, device: str | None = None) -> TokenClassifier:
    LOADED.append(TokenClassifier(Path(spec)))
    return LOADED[-1]


ROW = Kind(name="token_classifier", cost="labels", bytes_a_char=400)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A scorer that asks the new kind, as a user would register it."""
    monkeypatch.setitem(KINDS, ROW.name, ROW)
    monkeypatch.setitem(BACK_ENDS, ROW.name, BackEnd(load))
    REGISTRY.names()
    LOADED.clear()

    @scorer(
        "names",
        level="response",
        source="here",
        cost="labels",
        checkpoints={"model": "token_classifier"},
    )
    async def names(record: Record, evidence: Evidence, *, model: str) -> Score:
        (shares,) = await evidence.ask("token_classifier", [record.response], model)
        return Score.of(float(shares.mean()))

    yield "names"
    del REGISTRY._scorers["names"]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "shapes"
    folder.mkdir()
    np.savez(folder / "weights.npz", kernel=np.array([6.0, 6.0, 0.0]), bias=np.array(-3.0))
    return folder


ROWS = [
    {"response": "Paris has 2 rivers and a long quiet park."},
    {"response": "nothing here"},
    {"response": "nothing here"},
    {"response": "Rome"},
]


def test_a_new_kind_is_scored_by_the_engine(names: str, model: Path, tmp_path: Path) -> None:
    spec = f"{names}(model='{model}')"
    with Engine(processes=0, store=tmp_path / "store") as engine:
        planned = veridical.plan(ROWS, spec, engine=engine)
        results = veridical.check(ROWS, spec, engine=engine)
        scores = [r.scores[results.scorers[0].key] for r in results]
        (work,) = engine.work().values()
    high, low = 1 / (1 + np.exp(-3.0)), 1 / (1 + np.exp(3.0))
    expected = [(2 * high + 8 * low) / 10, low, low, high]
    assert [s.risk for s in scores] == pytest.approx(expected, abs=1e-6)
    assert all("token_classifier:shapes@-3.0" in s.signature for s in scores)
    assert (work.requests, work.shared, work.windows) == (3, 1, 4)
    (counted,) = planned["models"]
    assert counted["roles"] == [f"token_classifier {model}"]
    assert {n: counted[n] for n in ("requests", "windows", "tokens", "padded", "batches")} == {
        n: getattr(work, n) for n in ("requests", "windows", "tokens", "padded", "batches")
    }
    assert planned["scorers"][0]["cost"] == "labels" and planned["seconds"] > 0
    with Engine(processes=0, store=tmp_path / "store") as engine:
        again = veridical.check(ROWS, spec, engine=engine)
        assert [r.scores[again.scorers[0].key].risk for r in again] == [s.risk for s in scores]
    assert LOADED[-1].batches == []  # the store had them all


def test_it_takes_part_in_what_all_kinds_share(names: str, model: Path) -> None:
    assert costs()[-1] == "labels"  # dearest, as the last row
    spec = f"{names}(model='{model}')"
    with Engine(processes=0) as engine:
        mixed = veridical.check(ROWS, f"cosine, {spec}, ngram", engine=engine)
        (key,) = (b.key for b in mixed.scorers if b.scorer.name == names)
        assert [r.scores[key].status for r in mixed] == ["scored"] * len(ROWS)
        with pytest.raises(ModelError, match=r"no weights\.npz"):
            veridical.check(ROWS, f"{names}(model='{model.parent}')", engine=engine)
    with (
        Engine(processes=0, named_only=True) as engine,
        pytest.raises(UsageError, match="may not name its own model"),
    ):
        veridical.check(ROWS, spec, engine=engine)


def test_what_is_no_kind_or_cost_is_told() -> None:
    REGISTRY.names()

    @scorer("asks_nobody", level="response", source="here", cost="embed")
    async def asks(record: Record, evidence: Evidence, *, kind: str) -> Score:
        await evidence.ask(kind, [record.response])
        raise AssertionError

    try:
        with Engine(processes=0) as engine:
            reasons = []
            for kind in ("token_clasifier", "reader"):
                results = veridical.check(ROWS[:1], f"asks_nobody(kind={kind})", engine=engine)
                (score,) = next(iter(results)).scores.values()
                reasons.append(f"{score.status}: {score.reason}")
    finally:
        del REGISTRY._scorers["asks_nobody"]
    assert "failed" in reasons[0] and "kind of model" in reasons[0]
    assert "failed" in reasons[1] and "without declaring" in reasons[1]
    with pytest.raises(UsageError, match="cost"):
        scorer("typo", level="response", source="here", cost="emebd")(asks)


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_something_runs_every_kind(kind: Kind) -> None:
    assert kind.name in {*BACK_ENDS, *plugins.points(plugins.MODELS), "llm"}
    assert not kind.serves or kind.serves in KINDS
