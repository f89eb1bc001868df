from __future__ import annotations

import itertools
import json
import random
from importlib.resources import files

import pytest

from veridical.core.identity import Identity
from veridical.core.registry import REGISTRY
from veridical.engine import risk as one_risk
from veridical.engine.risk import NAME, QuantileTable, Tables, tables
from veridical.models import load_encoder, load_nli


def combine(risks: dict[str, float | None], samples: int) -> tuple[float | None, str | None]:
    """The one risk of risks by key."""
    return one_risk.combine({Identity.read(key): r for key, r in risks.items()}, samples)


def test_a_table_is_linear_between_its_points_and_flat_outside() -> None:
    table = QuantileTable("f", [0.2, 0.4, 0.8], [0.1, 0.5, 0.9])
    assert [table(x) for x in (0.0, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)] == pytest.approx(
        [0.1, 0.1, 0.3, 0.5, 0.7, 0.9, 0.9]
    )


def test_the_table_of_the_nearest_number_of_samples_is_taken() -> None:
    few, many = (
        QuantileTable("f", [0.0, 1.0], [0.0, 0.1]),
        QuantileTable("f", [0.0, 1.0], [0.0, 0.9]),
    )
    entry = Tables([2, 20], [few, many])
    assert [entry.at(n) is many for n in (0, 1, 2, 6, 7, 20, 500)] == [False] * 4 + [True] * 3


def test_one_scorer_keeps_its_own_risk() -> None:
    assert combine({"ngram(n=2)": 0.25}, 5) == (0.25, "ngram")
    assert combine({"ngram": None}, 5) == (None, None)


def test_families_weigh_alike_however_many_members_they_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    same = ([0.0, 1.0], [0.0, 1.0])
    fake = {
        n: Tables([0], [QuantileTable(f, *same)])
        for n, f in (("a", "one"), ("b", "one"), ("c", "two"))
    }
    monkeypatch.setattr("veridical.engine.risk.tables", lambda: fake)
    risk, by = combine({"a": 0.2, "b": 0.4, "c(p=1)": 0.9, "unknown": 0.0, "d": None}, 5)
    assert risk == pytest.approx((0.3 + 0.9) / 2) and by == NAME
    assert combine({"unknown": 0.1, "other": 0.3}, 5) == (pytest.approx(0.2), NAME)
    assert combine({"a": None, "c": None}, 5) == (None, None)


def test_each_call_counts_anew_what_was_scored() -> None:
    """Against the definition, with the same scorers time and again and others of them scored."""
    rng = random.Random(4)
    keys = ["ngram", "ngram_presence", "support", "exact_match", "knowledge_f1", "unheard_of"]
    for _ in range(300):
        risks = {k: None if rng.random() < 0.4 else rng.random() for k in keys}
        samples = rng.choice([0, 3, 5, 20])
        families: dict[str, list[float]] = {}
        for key, value in risks.items():
            entry = tables().get(key)
            if entry is not None and value is not None:
                table = entry.at(samples)
                families.setdefault(table.family, []).append(table(value))
        groups = [sum(g) / len(g) for g in families.values()]
        plain = risks["unheard_of"]
        expected = sum(groups) / len(groups) if groups else plain
        by = None if expected is None else NAME
        assert combine(risks, samples) == (expected, by)


def test_shipped_tables_belong_to_scorers_and_increase_strictly() -> None:
    shipped = tables()
    assert set(shipped) >= {"ngram", "checkembed", "support", "knowledge_f1"}
    assert set(REGISTRY.names()) >= set(shipped)
    for table in (t for entry in shipped.values() for t in entry.tables):
        for column in (table.risks, table.quantiles):
            assert all(a < b for a, b in itertools.pairwise(column))
            assert column[0] >= 0 and column[-1] <= 1


def test_shipped_tables_are_of_the_shipped_models() -> None:
    """A model that replaces another spreads its risks otherwise: the tables are to be made anew."""
    nli, encoder = load_nli("mini"), load_encoder("minilm")
    shipped = {f"nli:{nli.name}@{nli.revision}"}
    for role in ("embedder", "token_encoder"):
        shipped.add(f"{role}:{encoder.name}@{encoder.revision}")
    path = files("veridical.engine").joinpath("quantiles.json")
    entries = json.loads(path.read_text("utf-8"))["tables"]
    models = {model for entry in entries.values() for model in entry["models"]}
    assert {m for m in models if not m.startswith("proxy:")} <= shipped
    by_nli = {n for n, e in entries.items() if any(m.startswith("nli:") for m in e["models"])}
    assert {"selfcheck_nli", "claims", "nli_grounding", "semantic_entropy"} <= by_nli


def test_a_riskier_scorer_never_lowers_the_record() -> None:
    base = {"ngram": 0.5, "cosine": 0.3, "support": 0.4}
    start, _ = combine(base, 10)
    for name in base:
        last = -1.0
        for step in range(21):
            risk, _ = combine({**base, name: step / 20}, 10)
            assert risk is not None and 0 <= risk <= 1 and risk >= last
            last = risk
    assert start is not None


def test_an_ensemble_is_tuned_wherever_its_file_stands_in_the_key() -> None:
    for key in (
        "ensemble(file=a)",
        "ensemble(against=contexts,file=a)",
        "ensemble(against=contexts,claims=true,file=a)",
        "ensemble(claims=true,file=a)",
    ):
        assert combine({"ensemble": 0.2, key: 0.7}, 3) == (0.7, "ensemble"), key
        assert combine({"ensemble": 0.2, key: None}, 3) == (None, None), key
