"""Statements by what decided them, by hand and in runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from member_scores import Fixed
from nli_evidence import FixedVerdicts
from sharding import commands

from veridical.api import reopen
from veridical.cli.finish import statement_lines
from veridical.core.evidence import guarded
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.core.scores import DecidedBy, EvidenceItem, Result, Score, Unit
from veridical.core.stated import basis_key
from veridical.engine.summary import Summary
from veridical.scorers.grounding.nli_grounding import nli_grounding
from veridical.scorers.grounding.support import CONTRADICTION, FIGURES_FOUND

SAID = "You can return items within 30 days of delivery."
BEST = "Items can be returned within 30 days of delivery. The shop is open."
OTHER = "Opened software cannot be returned. Items can be returned in Leeds."
APART = "Tea is served at noon. Cakes are baked at one."
NEGATED = "Opened software can be returned."
SURE = (0.95, 0.05, 0.0)


@pytest.mark.parametrize(
    ("said", "contexts", "options", "basis"),
    [
        (SAID, [BEST], {}, "all_passages"),
        (SAID, [BEST, OTHER], {}, "all_passages"),
        (SAID, [BEST, OTHER], {"default": SURE}, "first_passages"),
        (SAID, [BEST, OTHER], {"default": SURE, "top": 0}, "all_passages"),
        (SAID, [BEST, OTHER, APART], {}, "near_passages"),  # no near sentence is in the last
        (SAID, [BEST * 20, OTHER * 20, APART * 20], {"top": 1}, "near_passages"),
        (SAID, [f"{APART} {SAID}"], {}, "rules"),  # a copy
        (SAID, [f"{APART} {SAID}", OTHER], {}, "rules"),
        (NEGATED, [OTHER], {}, "rules"),
    ],
)
async def test_what_decides_a_statement(
    said: str, contexts: list[str], options: dict[str, Any], basis: DecidedBy
) -> None:
    top = options.pop("top", 8)
    evidence = FixedVerdicts(Record(response=said, contexts=contexts), **options)
    score = await nli_grounding(evidence.record, evidence, top=top)
    assert score.statements == {basis: 1}
    assert evidence.once(basis_key("contexts", top), dict) == {0: basis}
    assert (basis == "rules") == (not any(evidence.asked))


TEXT = "It took two hours. It is 95 metres high. It is open."
KINDS: list[DecidedBy] = ["all_passages", "near_passages", "first_passages"]


def figures(record: Record) -> Score:
    """Return a score in which the first figure has another form, and the second is wrong."""
    item = EvidenceItem(kind="context", index=0, context=0, start=0, end=3, text="120 minutes")
    first, second, third = record.sentences
    units = [
        Unit.of(first, 0.0, label=FIGURES_FOUND, evidence=[item]),
        Unit.of(second, 1.0, label=CONTRADICTION),
        Unit.of(third, 0.0),
    ]
    return Score.of(1.0, units=units)


def of_each(record: Record, risk: float) -> Score:
    return Score.of(risk, units=[Unit.of(s, risk) for s in record.sentences])


async def counted(text: str = "ensemble", **scores: Score) -> dict[DecidedBy, int] | None:
    record = Record(response=TEXT, contexts=("c",), samples=("s",))
    evidence = Fixed(record, dict(scores))
    if "nli_grounding" in scores:
        starts = [s.start for s in record.sentences]
        evidence.once(basis_key("contexts", 8), lambda: dict(zip(starts, KINDS, strict=True)))
    (bound,) = REGISTRY.parse(text)
    return (await guarded(bound, record, evidence)).statements


async def test_values_come_before_passages_and_a_judge_before_both() -> None:
    record = Record(response=TEXT)
    read = of_each(record, 0.4)
    plain: dict[DecidedBy, int] = {"first_passages": 1, "near_passages": 1, "all_passages": 1}
    assert await counted(nli_grounding=read) == plain
    by_values = await counted(nli_grounding=read, support=figures(record))
    assert by_values == {"values": 2, "first_passages": 1}
    judged = await counted(
        "ensemble(judge=true)",
        nli_grounding=read,
        support=figures(record),
        statement_judge=of_each(record, 0.2),
    )
    assert judged == {"judge": 3}


async def test_without_a_model_words_decide_and_without_contexts_nothing_is_counted() -> None:
    record = Record(response=TEXT)
    words = await counted(knowledge_precision=of_each(record, 0.5))
    assert words == {"words": 3}
    assert await counted(entailment=of_each(record, 0.5)) is None


def test_the_deciding_score_counts_and_others_do_not() -> None:
    summary = Summary(REGISTRY.parse("support, nli_grounding"))
    first = Score.of(0.5, decided=["values", "all_passages", "values"])
    assert first.statements == {"values": 2, "all_passages": 1}
    for row, by in enumerate(["support", "support", None]):
        scores = {"support": first, "nli_grounding": Score.of(0.1, decided=["rules"])}
        result = Result(id=row, row=row, risk=0.5 if by else None, by=by, scores=scores)
        summary.add(Result.model_validate_json(result.model_dump_json()))  # type: ignore[arg-type]
    assert summary.as_dict()["statements"] == {"values": 4, "all_passages": 2}
    assert statement_lines(summary) == ["statements: 6; 4 decided by values, 2 by all passages"]
    assert statement_lines(Summary([])) == []
    assert "statements" not in json.loads(Score.of(0.5).model_dump_json())


ROWS = [
    {"response": "The climb took two hours.", "contexts": ["The climb took 120 minutes."]},
    {"response": "The mast is 95 metres high.", "contexts": ["The mast is 93 metres high."]},
    {"response": f"{SAID} {NEGATED}", "contexts": [f"{APART} {SAID}", OTHER]},
    {"response": "It is a nice town.", "contexts": [BEST, "Leeds is a town."]},
]
COUNTS = {"values": 3, "rules": 1, "all_passages": 1}  # the negation is a value of ``support``


def test_a_run_counts_the_same_resumed_and_by_shards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    Path("in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    run = commands(monkeypatch)
    check = ("check", "in.jsonl", "--out", "r", "--nli", "mini")
    assert run(*check) == 0
    told = capsys.readouterr()
    line = "statements: 5; 3 decided by values, 1 by rules on words, 1 by all passages"
    assert line in " ".join((told.out + told.err).split())
    assert run(*check) == 0
    told = capsys.readouterr()
    again = " ".join((told.out + told.err).split())
    assert line in again and "resumed: 4 records" in again
    assert run("shard", "plan", "in.jsonl", "--rows", 3, "--out", "d") == 0
    assert run("shard", "run", "d", "--nli", "mini") == 0
    assert run("shard", "merge", "d") == 0
    assert reopen("d/run").summary().statements == COUNTS
