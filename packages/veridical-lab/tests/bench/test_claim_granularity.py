"""Claims of several sizes on the same items: what is taken, and what they are compared with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fake_models import FakeNli

import veridical
from veridical.engine.engine import Engine
from veridical.errors import UsageError
from veridical_lab.bench.benchmark import Bench
from veridical_lab.bench.datasets import find_suite
from veridical_lab.bench.protocol import bind

LEVELS = "claims(extractor=response), claims(extractor=sentences), claims"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("veridical.models.load_nli", lambda spec, **_: FakeNli())

    def run(suite: str, path: Path, scorers: str = LEVELS, **more: Any) -> Bench:
        with Engine(processes=0) as engine:
            return veridical.bench(suite, path, scorers, engine=engine, bootstrap=100, **more)

    return run


def lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), "utf-8")
    return path


def begin(folder: Path) -> Path:
    """In every other response of several sentences, one that is not in the knowledge."""
    rows = []
    for i in range(40):
        whole = f"Town {i} lies north of lake {i}"
        bad = i % 2
        more = f" Gold costs {'much' if bad else i}." if i % 4 > 1 else ""
        known = "" if bad else f" Gold costs {i}."
        label = "Not fully attributable" if bad and more else "Fully attributable"
        rows.append({
            "knowledge": f"{whole}.{known}", "message": "m", "response": f"{whole}.{more}",
            "begin_label": label,
        })  # fmt: skip
    return lines(folder / "test_wow.jsonl", rows)


def test_paired_tests_and_several_sentences(bench, tmp_path: Path) -> None:
    path = begin(tmp_path)
    everything = bench("begin", path)
    (split,) = everything.splits
    names = LEVELS.split(", ")
    assert {(c.a, c.b) for c in split.comparisons if c.metric == "average_precision"} >= {
        (names[0], names[1]), (names[0], names[2]), (names[1], names[2])
    }  # fmt: skip
    assert all(c.p_holm is not None for c in split.comparisons)
    several = bench("begin", path, multi_sentence=True)
    (split,) = several.splits
    assert split.n_total == 20
    assert "20 of 40 items of wow/test have several sentences, and are taken" in split.notes
    assert several.run != everything.run and several.settings["multi_sentence"] is True


def test_no_item_of_several_sentences(bench, tmp_path: Path) -> None:
    path = lines(tmp_path / "x.jsonl", [{"response": "One.", "contexts": "One.", "label": 0}])
    with pytest.raises(UsageError, match="no item has several sentences"):
        bench("graded", path, multi_sentence=True)


def wikibio(folder: Path) -> Path:
    rows = []
    for i in range(6):
        good, bad = f"Ada {i} wrote books.", f"Ada {i} flew planes."
        rows.append({
            "wiki_bio_test_idx": i, "gpt3_text": f"{good} {bad}", "gpt3_sentences": [good, bad],
            "annotation": ["accurate", "major_inaccurate"], "gpt3_text_samples": [good, good],
            "wiki_bio_text": f"Ada {i} wrote books." if i % 2 else None,
        })  # fmt: skip
    return lines(folder / "w.jsonl", rows)


def test_wikibio_by_its_reference_texts(bench, tmp_path: Path) -> None:
    """Those without one are left out, not judged by something else."""
    made = bench("wikibio", wikibio(tmp_path), f"{LEVELS}, nli_grounding", against="reference")
    split = next(s for s in made.splits if s.split == "nonfact")
    assert split.n_total == 6  # sentences of 3 passages
    assert "3 of 6 items of wikibio have reference" in split.notes
    assert "claims(against=reference)" in split.scorers
    assert "nli_grounding(against=reference)" in split.scorers
    rows = {r.scorer: r for r in made.rows if (r.split, r.metric) == ("nonfact", "auroc")}
    assert rows["claims(against=reference,extractor=sentences)"].value == 1.0
    # the whole passage as one claim says the same of all its sentences
    assert rows["claims(against=reference,extractor=response)"].value == 0.5
    assert rows["claims(against=reference)"].n_not_applicable == 0
    with pytest.raises(UsageError, match="no item has contexts"):
        bench("wikibio", wikibio(tmp_path), against="contexts")
    with pytest.raises(UsageError, match="against is samples, contexts, reference"):
        bench("wikibio", wikibio(tmp_path), against="gold")


def test_what_claims_compare_with_is_one_thing_throughout() -> None:
    """By itself the scorer takes what a record has: on WikiBio now this, now that."""

    def key(suite: str, text: str) -> str:
        ((bound,), _) = bind(find_suite(suite), text)
        return bound.key

    assert key("wikibio", "claims") == "claims(against=samples)"
    assert key("wikibio", "claims(against=reference)") == "claims(against=reference)"
    assert key("begin", "claims") == "claims"
    assert key("truthfulqa", "claims") == "claims(against=reference)"
