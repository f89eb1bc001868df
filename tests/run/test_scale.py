"""What very many records would take: by the plan of the sample and by hand."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import pytest
from fake_models import FakeEncoder

import veridical
from veridical import UsageError
from veridical.cli.planned import scale_lines
from veridical.core.registry import REGISTRY
from veridical.ensembles.cascade_file import Cascade, Cost, Tier
from veridical.ensembles.ensemble_file import Component, Fit, FittedOn
from veridical.files.trained_files import write_trained
from veridical.llm.endpoints import Endpoint
from veridical.llm.fake import FakeLlm

ROWS = [
    {"prompt": f"Where is town {i}?", "response": f"Town {i} is in Mali.", "samples": ["In Mali."]}
    for i in range(20)
]
N = 1_000_000_000


def priced(answer: str = "1") -> FakeLlm:
    llm = FakeLlm(answer)
    llm.endpoint = Endpoint("fake", "fake:fake", "fake", price_in=3.0, price_out=5.0)
    return llm


def scaled(scorers: str | None = "cosine", rows: Any = ROWS, **options: Any) -> dict[str, Any]:
    told = veridical.plan(rows, scorers, records=N, processes=0, store=None, **options)["scale"]
    return {**told, "choices": {c["name"]: c for c in told["choices"]}}


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """An encoder whose forwards take 10 ms a window, and which takes a second to load."""

    class Slow(FakeEncoder):
        def run(self, batch: Any, tokens: bool = False) -> Any:
            time.sleep(0.01 * len(batch))
            return super().run(batch, tokens)

    def load(spec: str, **_: Any) -> Slow:
        time.sleep(1)
        return Slow()

    monkeypatch.setattr("veridical.models.load_encoder", load)


@pytest.mark.usefixtures("slow")
def test_hours_are_those_of_a_record_times_the_records() -> None:
    """Each record has a window of its own, and all have one: 10.5 ms a record, no second of it
    for loading."""
    choice = scaled(cores=1, threads=1)["choices"]["scorers"]
    hours = 0.0105 * N / 3600
    assert hours < choice["machine_hours"] < 1.5 * hours
    assert choice["records_per_second"] == pytest.approx(N / 3600 / choice["machine_hours"])
    assert (choice["machines"], choice["hours"]) == (math.ceil(choice["machine_hours"] / 24), 24)
    assert choice["cost"] == {"machines": None, "llm": 0.0}


@pytest.mark.usefixtures("slow")
def test_cores_machines_and_price() -> None:
    told = scaled(cores=8, threads=2, machines=50, price=0.4)
    choice = told["choices"]["scorers"]
    assert (told["cores"], told["measured_cores"], told["hours"]) == (8, 2, None)
    hours = 0.0105 * N / 3600 / 4  # a machine has four times the cores
    assert hours < choice["machine_hours"] < 1.5 * hours
    assert choice["machines"] == 50
    assert choice["hours"] == pytest.approx(choice["machine_hours"] / 50)
    assert choice["cost"]["machines"] == pytest.approx(choice["machine_hours"] * 0.4)


@pytest.mark.usefixtures("slow")
def test_savings_are_the_shares_of_what_the_dearer_choice_takes() -> None:
    choices = scaled(price=1.0, deferral=0.25)["choices"]
    assert [*choices] == ["fast", "scorers", "fast, then scorers (25%)"]
    fast, dear, both = (choices[name]["machine_hours"] for name in choices)
    assert both == pytest.approx(fast + 0.25 * dear)
    assert choices["scorers"]["saves"] is None
    for name, hours in (("fast", fast), ("fast, then scorers (25%)", both)):
        saves = choices[name]["saves"]
        assert saves["instead_of"] == "scorers"
        for share in (saves["machine_hours"], saves["cost"]):
            assert share == pytest.approx(1 - hours / dear)


def test_without_scorers_each_preset_is_told() -> None:
    rows = [{"response": "Rome is in Italy.", "contexts": ["Rome is the capital of Italy."]}] * 3
    choices = scaled(None, rows)["choices"]
    assert [*choices] == [
        "fast", "auto", "all", "fast, then auto (10%)", "fast, then all (10%)",
    ]  # fmt: skip
    fast, auto, every = (choices[name]["machine_hours"] for name in ("fast", "auto", "all"))
    assert 0 < fast < auto < every


def test_money_is_that_of_the_sample_times_the_records(tmp_path: Path) -> None:
    """Also where the sample's calls are journaled: those of the other records are not."""
    options: dict[str, Any] = {"store": tmp_path / "store", "processes": 0}
    cold = veridical.plan(ROWS, "judge", llm=priced(), **options)["llm"]
    veridical.check(ROWS, "judge", llm=priced(), **options)
    plan = veridical.plan(ROWS, "judge", llm=priced(), records=N, price=1.0, **options)
    assert (cold["calls"], plan["llm"]["calls"]) == (20, 0)
    choices = {c["name"]: c for c in plan["scale"]["choices"]}
    dear = choices["scorers"]
    assert dear["llm"]["calls"] == pytest.approx(N)
    assert dear["cost"]["llm"] == pytest.approx(cold["cost"] / 20 * N) and cold["cost"] > 0
    both = choices["fast, then scorers (10%)"]
    assert both["cost"]["llm"] == pytest.approx(0.1 * dear["cost"]["llm"])
    money = {n: sum(c["cost"].values()) for n, c in choices.items()}
    assert both["saves"]["cost"] == pytest.approx(
        1 - money["fast, then scorers (10%)"] / money["scorers"]
    )
    (line,) = [t for t in scale_lines(plan["scale"]) if t.startswith("scorers: ")]
    assert line == "scorers: 1 000 000 000 LLM calls, 11 600 a second"  # N / 24 h


def test_money_without_prices_is_unknown_not_0() -> None:
    llm = FakeLlm("1")
    llm.endpoint = Endpoint("fake", "fake:fake", "fake")
    choice = scaled("judge", llm=llm, price=1.0)["choices"]["fast, then scorers (10%)"]
    assert choice["cost"]["llm"] is None and choice["saves"]["cost"] is None
    assert choice["saves"]["machine_hours"] is not None


def tier(name: str, call: str, stopped: float, *, low: float | None = None) -> Tier:
    (bound,) = REGISTRY.parse(call)
    return Tier(
        name=name,
        components=(Component(scorer=call, signature=bound.signature("")),),
        fit=Fit(
            weights={call: 1.0},
            calibration={"method": "temperature", "inverse": 1.0},
            n=100,
            positive=50,
        ),
        low=low,
        costs={call: Cost(seconds=1.0, money=None)},
        stopped=stopped,
    )


def test_a_cascade_takes_what_its_tiers_do_for_those_that_reach_them(tmp_path: Path) -> None:
    """Of 100 graded records 70 stopped before the judge: the other 30 are asked about."""
    path = tmp_path / "cascade.json"
    last = tier("judges", "judge", 0.3)
    fit = last.fit.model_copy(update={"weights": {"exact_match": 0.5, "judge": 0.5}})
    tiers = (tier("model-free", "exact_match", 0.7, low=0.2), last.model_copy(update={"fit": fit}))
    write_trained(
        path,
        Cascade(
            version="0",
            method="weighted",
            tiers=tiers,
            keep=0.99,
            confidence=0.9,
            hour=1.0,
            full=Cost(seconds=2.0, money=None),
            fitted_on=FittedOn(
                file="g", fingerprint="0", n=100, positive=50, groups=100, labels="label"
            ),
        ),
    )
    told = scaled(f"cascade(file={str(path)!r})", llm=priced())
    calls = {name: c["llm"]["calls"] for name, c in told["choices"].items()}
    assert calls == {
        "fast": 0,
        "the cascade": pytest.approx(0.3 * N),
        "all its tiers": pytest.approx(N),
    }
    assert told["deferral"] is None
    assert told["choices"]["the cascade"]["saves"]["instead_of"] == "all its tiers"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"records": 0}, "records must be at least 1"),
        ({"records": 1.5}, "records must be a whole number"),
        ({"records": 19}, "records 19 must be at least the 20 rows"),
        ({"hours": 3.0}, "hours requires records=N"),
        ({"cores": 2}, "cores requires records=N"),
        ({"records": N, "cores": 0}, "cores must be at least 1"),
        ({"records": N, "machines": 0}, "machines must be at least 1"),
        ({"records": N, "hours": 0.0}, "hours must be more than 0"),
        ({"records": N, "hours": float("nan")}, "hours must be a number"),
        ({"records": N, "price": -1.0}, "price must be at least 0"),
        ({"records": N, "price": float("inf")}, "price must be a number"),
        ({"records": N, "deferral": 1.1}, "deferral must be from 0 to 1"),
        ({"records": N, "machines": 2, "hours": 3.0}, "machines and hours exclude each other"),
        ({"recrods": N}, "did you mean 'records'"),
    ],
)
def test_nonsense_is_refused_before_a_model_is_loaded(
    options: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(spec: str, **_: Any) -> None:
        raise AssertionError("loaded")

    monkeypatch.setattr("veridical.models.load_encoder", load)
    with pytest.raises(UsageError, match=said):
        veridical.plan(ROWS, "cosine", **options)


def test_a_sample_without_a_record_is_refused() -> None:
    with pytest.raises(UsageError, match="no valid record"):
        veridical.plan([{"answers": "none"}], "exact_match", records=10, processes=0)
