"""RefChecker's harness rows with hand-made references, by the protocol of its own evaluation."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_models import FakeNli
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score

import veridical
from veridical.engine.engine import Engine
from veridical_lab.bench.benchmark import Bench

E, N, C, BAD = "Entailment", "Neutral", "Contradiction", "bad triplet"
#: What the fake model says of each triplet, given "town lies north": by its words.
SAID = {
    E: ["town", "lies", "north"],
    N: ["bronze", "costs", "gold"],
    C: ["town", "lies", "not north"],
}
#: Model -> responses to questions 1, 2 ...: (people's label, what the triplet makes the model say).
ANSWERS: dict[str, list[list[tuple[str, str]]]] = {
    "gpt4": [[(E, E), (E, E)], [(E, E), (N, N)], [(E, N), (E, E)], [(E, E)]],
    "claude2": [[(E, E), (C, C)], [(N, E), (E, E)], [(C, N), (C, C), (BAD, C)], [(E, E)]],
    "alpaca_7B": [[(C, C)], [(N, N), (N, E)], [(E, C)], [(BAD, E)]],
    "davinci001": [[(C, E)], [(C, E)], [(E, E)], [(N, C)]],
}


def data(folder: Path, setting: str = "zero_context", **more: Any) -> Path:
    folder.mkdir(exist_ok=True)
    rows = [
        {
            "setting": setting, "dataset": "nq", "model": model, "id": str(i),
            "response": f"Answer {i}.", "triplet": SAID[said], "human_label": label, **more,
        }
        for model, responses in ANSWERS.items()
        for i, claims in enumerate(responses)
        for label, said in claims
    ]  # fmt: skip
    lines = "".join(json.dumps(r) + "\n" for r in rows)
    (folder / "claims.jsonl").write_text(lines, "utf-8")
    refs = [
        {"id": str(i), "references": ["Cats sleep all day.", "The town lies north."]}
        for i in range(4)
    ]
    lines = "".join(json.dumps(r) + "\n" for r in refs)
    (folder / "references.jsonl").write_text(lines, "utf-8")
    return folder


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr("veridical.models.load_nli", lambda spec, **_: FakeNli())

    def run(suite: str, scorers: str, **more: Any) -> Bench:
        with Engine(processes=0) as engine:
            folder = data(tmp_path / "rc")
            return veridical.bench(suite, folder, scorers, engine=engine, bootstrap=50, **more)

    return run


def value(made: Bench, split: str, metric: str, scorer: str, positive: str | None = None) -> float:
    (found,) = [
        r.value
        for r in made.rows
        if (r.split, r.metric, r.scorer) == (split, metric, scorer)
        and positive in (None, r.positive)
    ]
    assert found is not None
    return found


def test_tables_5_and_8(bench) -> None:
    scorer = "claims(checker=nli,extractor=given,merge=any)"
    made = bench("refchecker", scorer)
    pairs = [p for r in ANSWERS.values() for claims in r for p in claims if p[0] != BAD]
    human, said = zip(*pairs, strict=True)
    assert value(made, "zero_context", "accuracy", scorer) == pytest.approx(
        accuracy_score(human, said)
    )
    assert value(made, "zero_context", "macro_f1", scorer) == pytest.approx(
        f1_score(human, said, average="macro")
    )
    (row,) = [
        r for r in made.rows
        if (r.split, r.metric, r.scorer) == ("zero_context", "accuracy", scorer)
    ]  # fmt: skip
    majority = Counter(human).most_common(1)[0][1] / len(human)
    assert row.baselines.majority == pytest.approx(majority)
    assert (row.threshold, row.n_total) == (None, len(human))  # its own labels, nothing fitted
    notes = next(s.notes for s in made.splits if s.split == "zero_context")
    assert "claims that the annotators called bad triplets, left out of zero_context: 2" in notes


def test_tables_10_to_12(bench) -> None:
    """Responses of six models (davinci001 is not among them) that have claims; factual where all
    claims are entailed; rates are shares of claims that are not."""
    scorer = "claims(aggregate=rate,checker=nli,extractor=given)"
    made = bench("refchecker_responses", scorer)
    human, said = [], []
    for model, responses in ANSWERS.items():
        for claims in responses:
            kept = [p for p in claims if p[0] != BAD]
            if model == "davinci001" or not kept:
                continue
            human.append(np.mean([p[0] != E for p in kept]))
            said.append(np.mean([p[1] != E for p in kept]))
    true, predicted = np.array(human) > 0, np.array(said) > 0
    split = "zero_context/factual"
    assert value(made, split, "accuracy", scorer) == pytest.approx(accuracy_score(true, predicted))
    for wrong, name in enumerate(("Factual", "Non-Factual")):
        expected = f1_score(true, predicted, pos_label=wrong)
        assert value(made, split, "f1", scorer, name) == pytest.approx(expected)
    for metric, function in (("pearson", pearsonr), ("spearman", spearmanr)):
        found = value(made, "zero_context/rate", metric, scorer)
        assert found == pytest.approx(function(human, said).statistic)
    rows = [r for r in made.rows if r.split == split and r.scorer == scorer]
    assert {r.n_total for r in rows} == {len(human)} == {11}
    notes = next(s.notes for s in made.splits if s.split == split)
    assert any("davinci001" in n for n in notes)


def test_table_7(bench) -> None:
    """The strict class of a response, of all models."""
    scorer = "claims(extractor=given)"
    made = bench("refchecker_responses", f"{scorer}, claims(extractor=response)")
    order = [E, N, C]
    human, said = [], []
    for responses in ANSWERS.values():
        for claims in responses:
            kept = [p for p in claims if p[0] != BAD]
            if kept:
                human.append(max((p[0] for p in kept), key=order.index))
                said.append(max((p[1] for p in kept), key=order.index))
    expected = f1_score(human, said, average="macro")
    assert value(made, "all", "macro_f1", scorer) == pytest.approx(expected)
    comparisons = next(s.comparisons for s in made.splits if s.split == "all")
    assert {(c.a, c.b) for c in comparisons} >= {(scorer, "claims(extractor=response)")}


def test_a_claim_that_reads_like_a_refusal_does_not_turn_labels_into_thresholds(
    bench, tmp_path: Path
) -> None:
    """``claims(extractor=response)`` takes it for an abstention, which has a class here too."""
    SAID["refusal"] = ["I", "do not know", "the answer"]
    ANSWERS["gpt4"].append([(N, "refusal")])
    try:
        scorer = "claims(extractor=response)"
        made = bench("refchecker", scorer)
    finally:
        ANSWERS["gpt4"].pop()
        del SAID["refusal"]
    rows = [r for r in made.rows if r.scorer == scorer and r.metric == "accuracy"]
    assert rows and {r.threshold for r in rows} == {None}


def test_claims_of_one_response_come_together(load: Any, write: Any, published: Any) -> None:
    _, row = published["refchecker"]
    other = {**row, "triplet": ["It", "is", "long"], "human_label": "Contradiction"}
    path = write("claims.jsonl", [row, {**row, "model": "x"}, other, {**row, "response": "Other."}])
    first, second, third = load("refchecker_responses", path).items
    assert first.record.meta["claims"] == [row["triplet"], other["triplet"]]
    assert (first.record.response, first.record.label) == (row["response"], 1.0)
    assert [u.label for u in first.record.unit_labels or ()] == [0.5, 1.0]
    assert (second.facets["model"], third.record.response) == ("x", "Other.")
    assert first.group == second.group == third.group
    tasks = load("refchecker_responses", path).tasks
    assert tasks["zero_context"].truth.tolist() == [2, 1, 1]
    assert tasks["zero_context/factual"].truth.tolist() == [1, 1, 1]


def test_responses_without_a_claim_are_abstentions(load: Any, write: Any, published: Any) -> None:
    _, row = published["refchecker"]
    sorry = {"setting": "noisy_context", "model": "gpt4", "response": "Sorry.", "n_claims": 0}
    others = [{**sorry, "id": 8, "n_claims": "0"}, {**sorry, "id": 9, "setting": "elsewhere"}]
    write("responses.jsonl", [{**row, "n_claims": 1}, {**sorry, "id": 7}, *others])
    loaded = load("refchecker_responses", write("claims.jsonl", [row]))
    claiming, silent = loaded.items
    assert claiming.record.meta["claims"] and silent.record.meta["claims"] == []
    assert (silent.part, silent.group, silent.facets["model"]) == ("noisy_context", "7", "gpt4")
    assert silent.record.label is None and silent.record.unit_labels is None
    assert [b.error.field for b in loaded.bad] == ["n_claims", "setting"]
    assert load("extraction", write("claims.jsonl", [row])).items == [claiming]


def test_published_answers_with_an_empty_list_are_too(load: Any, write: Any) -> None:
    rows = [
        {"id": "1", "response": "Peter sang.", "claude2_response_kg": [
            {"triplet": ["Peter", "sang", "it"], "human_label": "Entailment"}]},
        {"id": "2", "response": "I cannot say.", "claude2_response_kg": []},
    ]  # fmt: skip
    loaded = load("refchecker_responses", write("msmarco_gpt4_answers.json", rows))
    assert not loaded.bad
    assert [(i.part, i.facets["model"], i.record.meta["claims"]) for i in loaded.items] == [
        ("noisy_context", "gpt4", [["Peter", "sang", "it"]]),
        ("noisy_context", "gpt4", []),
    ]


@pytest.mark.data
def test_the_published_numbers_of_responses(shared_data: Path, load: Any) -> None:
    """83.20, 64.13 and 72.36 % (tables 10 to 12, Claude 2 + NLI) are of 518, 538 and 568."""
    loaded = load("refchecker_responses", shared_data / "refchecker")
    assert not loaded.bad
    numbers = {
        s: int((~np.isnan(t.truth)).sum()) for s, t in loaded.tasks.items() if "factual" in s
    }
    assert numbers == {
        "zero_context/factual": 518,
        "noisy_context/factual": 538,
        "accurate_context/factual": 568,
    }
    for percent, n in zip((83.20, 64.13, 72.36), numbers.values(), strict=True):
        assert any(round(100 * k / n, 2) == percent for k in range(n + 1))
    assert sum(len(i.record.meta["claims"]) for i in loaded.items) == 10_733
