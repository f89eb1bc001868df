"""``rank`` from end to end: files, finished runs, suites, people's labels, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_models import FakeNli
from scipy.stats import kendalltau, spearmanr

import veridical
from veridical.engine.engine import Engine
from veridical.errors import UsageError
from veridical_lab.rank import Ranking, rank
from veridical_lab.rank.rank_html import write_ranking_report
from veridical_lab.rank.rank_text import ranking_markdown

#: By the fake model: every word there is entailment, "not" added is contradiction.
RIGHT, WRONG, ODD, SORRY = (
    "Town {i} lies north.",
    "Town {i} lies not north.",
    "Gold costs money.",
    "I'm sorry, I don't know.",
)
ANSWERS = {
    "good": [RIGHT, RIGHT, RIGHT, RIGHT, RIGHT, SORRY],
    "middle": [RIGHT, RIGHT, ODD, RIGHT, WRONG, RIGHT],
    "bad": [WRONG, RIGHT, WRONG, ODD, WRONG, WRONG],
}
LABELS = {RIGHT: 0, WRONG: 1, ODD: 1, SORRY: 0}


def rows(key: str, **more: Any) -> list[dict[str, Any]]:
    return [
        {
            "prompt": f"Where is town {i}?",
            "response": text.format(i=i),
            "contexts": f"Town {i} lies north.",
            "label": LABELS[text],
            **more,
        }
        for i, text in enumerate(ANSWERS[key])
    ]


def write(path: Path, found: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in found), "utf-8")
    return path


@pytest.fixture
def nli(monkeypatch: pytest.MonkeyPatch) -> FakeNli:
    model = FakeNli()
    monkeypatch.setattr("veridical.models.load_nli", lambda spec, **_: model)
    return model


@pytest.fixture
def engine(tmp_path: Path, nli: FakeNli, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.chdir(tmp_path)
    with Engine(processes=0) as made:
        yield made


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """All models in one file, which names them."""
    return write(tmp_path / "all.jsonl", [r for m in ANSWERS for r in rows(m, model=m)])


def test_an_instruction_that_all_texts_share_is_paired_with_its_text(
    tmp_path: Path, engine: Engine
) -> None:
    shared = [r | {"prompt": "Say where."} for m in ANSWERS for r in rows(m, model=m)]
    (part,) = rank(write(tmp_path / "shared.jsonl", shared), engine=engine, bootstrap=200).parts
    assert part.n_prompts == len(ANSWERS["good"])
    assert [m.model for m in part.models] == ["good", "middle", "bad"]


def by_model(found: Ranking) -> dict[str, Any]:
    (part,) = found.parts
    return {m.model: m for m in part.models}


def test_answers_to_one_prompt_are_one_unit(tmp_path: Path, engine: Engine) -> None:
    """Three copies of each answer tell no more than one, whatever their ids."""
    once = [r for m in ANSWERS for r in rows(m, model=m)]
    thrice = [{**r, "id": 3 * n + i} for n, r in enumerate(once) for i in range(3)]
    ranked = [
        rank(write(tmp_path / f"{name}.jsonl", data), engine=engine, bootstrap=200).parts[0]
        for name, data in (("once", once), ("thrice", thrice))
    ]
    assert [p.n_prompts for p in ranked] == [6, 6]
    first, second = ({m.model: m.rates["hallucination"] for m in p.models} for p in ranked)
    for name in ANSWERS:
        assert (second[name].low, second[name].high) == pytest.approx(
            (first[name].low, first[name].high)
        )
    assert [c.p_holm for c in ranked[1].comparisons] == pytest.approx(
        [c.p_holm for c in ranked[0].comparisons]
    )


def test_rates_by_hand(mixed: Path, engine: Engine) -> None:
    found = rank(mixed, engine=engine, bootstrap=200)
    (part,) = found.parts
    assert [m.model for m in part.models] == ["good", "middle", "bad"]
    values = {m.model: {k: r.value for k, r in m.rates.items()} for m in part.models}
    assert values["good"] == {
        "hallucination": 0, "contradiction": 0, "neutral": 0, "entailment": 1,
        "abstain": pytest.approx(1 / 6),
    }  # fmt: skip
    assert values["middle"]["hallucination"] == pytest.approx(2 / 6)
    assert values["middle"]["contradiction"] == pytest.approx(1 / 6)
    assert values["bad"]["hallucination"] == pytest.approx(5 / 6)
    assert values["bad"]["contradiction"] == pytest.approx(4 / 6)
    good = by_model(found)["good"]
    assert (good.n_responses, good.n_abstained, good.n_claims) == (6, 1, 5)
    assert [m.rates["hallucination"].rank for m in part.models] == [1, 2, 3]
    assert len(part.comparisons) == 9 and found.paired_by == "prompt"
    middle = by_model(found)["middle"].rates["hallucination"]
    assert middle.low <= middle.value <= middle.high


def test_other_orders(mixed: Path, engine: Engine) -> None:
    found = rank(mixed, order="abstain", engine=engine, bootstrap=0)
    assert [m.model for m in found.parts[0].models] == ["bad", "middle", "good"]
    assert found.parts[0].models[0].rates["abstain"].rank == 1.5


def test_agreement_is_of_the_same_responses(mixed: Path, engine: Engine) -> None:
    (part,) = rank(mixed, engine=engine, bootstrap=100).parts
    names = [m.model for m in part.models]
    human = [sum(LABELS[t] for t in ANSWERS[n]) / 6 for n in names]
    assert [m.human["hallucination"] for m in part.models] == pytest.approx(human)
    ours = [m.rates["hallucination"].value for m in part.models]
    told = {a.metric: a.value for a in part.agreement}
    assert told["spearman"] == pytest.approx(spearmanr(ours, human).statistic)
    assert told["kendall"] == pytest.approx(kendalltau(ours, human).statistic)
    assert {a.rate for a in part.agreement} == {"hallucination"}


def test_files_are_models_and_nothing_is_scored_twice(
    tmp_path: Path, engine: Engine, nli: FakeNli
) -> None:
    for m in ANSWERS:
        write(tmp_path / f"{m}.jsonl", rows(m))
    first = rank(["good.jsonl", "worst=bad.jsonl"], engine=engine, bootstrap=0)
    assert set(by_model(first)) == {"good", "worst"}
    before = nli.calls
    again = rank(["good.jsonl", "worst=bad.jsonl"], engine=engine, bootstrap=0)
    runs = [Path(r) for r in again.runs]
    read = rank([runs[0], f"worst={runs[1]}"], engine=engine, bootstrap=0)
    assert nli.calls == before
    assert read.parts == again.parts == first.parts
    third = rank(["good.jsonl", "bad.jsonl", "middle.jsonl"], engine=engine, bootstrap=0)
    assert set(by_model(third)) == set(ANSWERS) and len(third.runs) == 3


def test_a_finished_run_with_other_scorers(mixed: Path, engine: Engine, tmp_path: Path) -> None:
    both = "support, claims, claims(extractor=sentences)"
    veridical.check(mixed, both, out=tmp_path / "run", engine=engine)
    with pytest.raises(UsageError, match="name the score to rank by"):
        rank(tmp_path / "run", engine=engine)
    found = rank(tmp_path / "run", scorer="claims(extractor=sentences)", engine=engine)
    assert found.scorer == "claims(extractor=sentences)"
    with pytest.raises(UsageError, match=r"no score claims\(extractor=triplets\)"):
        rank(tmp_path / "run", scorer="claims(extractor=triplets)", engine=engine)
    veridical.check(mixed, "support", out=tmp_path / "other", engine=engine)
    with pytest.raises(UsageError, match="check --claims"):
        rank(tmp_path / "other", engine=engine)


def test_a_run_that_has_not_ended(mixed: Path, engine: Engine, tmp_path: Path) -> None:
    veridical.check(mixed, "claims", out=tmp_path / "run", engine=engine)
    lines = (tmp_path / "run" / "results.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "run" / "results.jsonl").write_bytes(b"".join(lines[:-3]))
    with pytest.raises(UsageError, match="has not ended, 3 records are not judged; run its"):
        rank(tmp_path / "run", engine=engine)
    veridical.check(mixed, "claims", out=tmp_path / "some", limit=13, engine=engine)
    assert by_model(rank(tmp_path / "some", engine=engine))["bad"].n_responses == 1


def test_only_prompts_that_all_have_answered(tmp_path: Path, engine: Engine) -> None:
    found = [r for m in ANSWERS for r in rows(m, model=m)]
    found[0]["contexts"] = []  # good, town 0: not applicable
    del found[17]  # bad, town 5
    path = write(tmp_path / "x.jsonl", found)
    made = rank(path, engine=engine, bootstrap=50)
    models = by_model(made)
    assert made.parts[0].n_prompts == 4
    assert {m: x.n_responses for m, x in models.items()} == dict.fromkeys(ANSWERS, 4)
    assert (models["good"].n_not_applicable, models["good"].n_left_out) == (1, 1)
    assert models["bad"].n_left_out == 1 and models["middle"].n_left_out == 2
    assert "2 of 6 prompts" in made.parts[0].notes[0]
    own = by_model(rank(path, every_prompt=True, engine=engine, bootstrap=50))
    assert {m: x.n_responses for m, x in own.items()} == {"good": 5, "middle": 6, "bad": 5}


def test_failures_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "x.jsonl", [r for m in ANSWERS for r in rows(m, model=m)])
    broken = FakeNli(fail_on=lambda pair: "Gold" in pair[1])
    monkeypatch.setattr("veridical.models.load_nli", lambda spec, **_: broken)
    with Engine(processes=0) as engine:
        made = rank(path, engine=engine, bootstrap=0, out=tmp_path / "runs")
    middle = by_model(made)["middle"]
    assert (middle.n_failed, middle.coverage) == (1, pytest.approx(5 / 6))
    assert made.parts[0].n_prompts == 4  # towns 2 and 3 failed for one


def test_parts_and_ids(tmp_path: Path, engine: Engine) -> None:
    """The same id in two parts is two prompts; without prompts ids pair."""
    found = [
        {k: v for k, v in r.items() if k != "prompt"} | {"id": i % 3, "task": "ab"[i // 3]}
        for m in ANSWERS
        for i, r in enumerate(rows(m, model=m))
    ]
    made = rank(write(tmp_path / "x.jsonl", found), split_by="task", engine=engine, bootstrap=0)
    assert made.paired_by == "id"
    assert [(p.name, p.n_prompts) for p in made.parts] == [("a", 3), ("b", 3), ("all", 6)]
    del found[0]["task"]
    with pytest.raises(UsageError, match="row 0 has no 'task'"):
        rank(write(tmp_path / "y.jsonl", found), split_by="task", engine=engine)


def claims_of(setting: str, model: str, number: int, *labels: str) -> list[dict[str, Any]]:
    town = f"town {number}"
    said = {
        "Entailment": [town, "lies", "north"],
        "Contradiction": [town, "lies", "not north"],
        "Neutral": ["bronze", "costs", "gold"],
    }
    return [
        {
            "setting": setting, "dataset": "nq", "model": model, "id": str(number),
            "response": f"Town {number}.", "human_label": y,
            "triplet": said.get(y, [town, "has", "x"]),
        }
        for y in labels
    ]  # fmt: skip


def test_a_suite_with_peoples_claims(tmp_path: Path, engine: Engine) -> None:
    """The paper's figure 6 in small: the checker says what people say, so both rank alike."""
    e, n, c = "Entailment", "Neutral", "Contradiction"
    answers = {
        "gpt4": [(e, e), (e,), (e, n)],
        "llama": [(e, c), (e,), (n, n)],
        "alpaca": [(c, c), (n,), (c, n, "bad triplet")],
    }
    data = [
        row
        for model, found in answers.items()
        for i, labels in enumerate(found)
        for row in claims_of("zero_context", model, i, *labels)
    ]
    data += claims_of("zero_context", "gpt4", 9, "bad triplet")  # no answer to rank by
    folder = tmp_path / "rc"
    folder.mkdir()
    write(folder / "claims.jsonl", data)
    refs = [{"id": str(i), "references": f"town {i} lies north"} for i in (0, 1, 2, 9)]
    write(folder / "references.jsonl", refs)
    made = rank(
        folder, suite="refchecker_responses", scorer="claims(extractor=given)",
        engine=engine, bootstrap=100, split_by="part",
    )  # fmt: skip
    models = by_model(made)
    assert models["gpt4"].n_responses == 3
    for model, found in answers.items():
        kept = [[y for y in labels if y != "bad triplet"] for labels in found]
        for rate, wrong in (("hallucination", {n, c}), ("contradiction", {c})):
            human = sum(sum(y in wrong for y in ys) / len(ys) for ys in kept) / 3
            assert models[model].human[rate] == pytest.approx(human), (model, rate)
            assert models[model].rates[rate].value == pytest.approx(human), (model, rate)
    told = {(a.rate, a.metric): a.value for a in made.parts[0].agreement}
    assert set(told.values()) == {1.0} and len(told) == 4


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"by": "maker"}, "at least two models, not all"),
        ({"order": "truth"}, "order is hallucination"),
        ({"pair_by": "mood"}, "paired by prompt or id"),
        ({"scorer": "support"}, "one scorer 'claims'"),
        ({"scorer": "claims, claims(top=2)"}, "one scorer 'claims'"),
        ({"scorer": "claims(extractor=words)"}, "unknown claim extractor"),
        ({"suite": "nope"}, "unknown suite"),
        ({"bootstrap": -1}, "bootstrap must be at least 0"),
    ],
)
def test_what_cannot_be_asked(
    change: dict[str, Any], said: str, mixed: Path, engine: Engine
) -> None:
    with pytest.raises(UsageError, match=said):
        rank(mixed, engine=engine, **change)


def test_inputs_that_cannot_be_compared(tmp_path: Path, engine: Engine) -> None:
    a = write(tmp_path / "a.jsonl", rows("good"))
    with pytest.raises(UsageError, match=r"nowhere\.jsonl: no such file"):
        rank([a, "b=nowhere.jsonl"], engine=engine)
    with pytest.raises(UsageError, match="given twice"):
        rank([a, f"b={a}"], engine=engine)
    half = [*rows("good", model="good"), *rows("bad")]
    with pytest.raises(UsageError, match=r"row 0 names its model .* row 6 does not"):
        rank(write(tmp_path / "half.jsonl", half), engine=engine)
    other = [{**r, "prompt": f"Else {i}", "id": f"e{i}"} for i, r in enumerate(rows("bad"))]
    with pytest.raises(UsageError, match="no two models answer the same prompt"):
        rank([a, write(tmp_path / "b.jsonl", other)], engine=engine)
    lists = [{**r, "model": ["x"]} for r in rows("bad")]
    with pytest.raises(UsageError, match="must be text"):
        rank([a, write(tmp_path / "c.jsonl", lists)], engine=engine)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(UsageError, match="not a readable run directory"):
        rank([a, empty], engine=engine)


def test_hostile_names_reach_the_reports_as_text(tmp_path: Path, engine: Engine) -> None:
    evil = '<script>alert(1)</script>|\x1b[31m"`x`\n# head'
    names = {"good": evil, "bad": "b" * 5000}
    found = [r for m in names for r in rows(m, model=names[m])]
    made = rank(write(tmp_path / "x.jsonl", found), engine=engine, bootstrap=20)
    write_ranking_report(made, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text("utf-8")
    assert page.count("<script") == 1 and "&lt;script&gt;" in page
    text = ranking_markdown(made)
    assert "<script" not in text and "\x1b" not in text and "\n# head" not in text
    assert Ranking.model_validate_json(made.model_dump_json()) == made
