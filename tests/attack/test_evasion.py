"""Statements in forms that hide them: wrong ones are flagged, and right ones are not."""

from __future__ import annotations

from collections import Counter

import pytest
from evasive_forms import FACTS, rows, tags

import veridical
from veridical.core.verdict_cuts import FLAGGED

#: Shares of the answers that may be judged amiss.
MAX_MISSED, MAX_FLAGGED = 0.005, 0.02


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> veridical.Results:
    out = tmp_path_factory.mktemp("evasion") / "run"
    return veridical.check(rows(), out=out, store=None, nli="mini")


def test_wrong_answers_are_flagged_and_right_ones_are_not(results: veridical.Results) -> None:
    missed: Counter[str] = Counter()
    flagged: Counter[str] = Counter()
    for result in results:
        form, _, side = str(result.id).split("/")
        if side == "wrong" and result.verdict not in FLAGGED:
            missed[form] += 1
        if side == "right" and result.verdict in FLAGGED:
            flagged[form] += 1
    count = len(results) / 2
    said = (
        f"of {count:.0f} wrong answers {missed.total()} are not flagged: {dict(missed)}; "
        f"of {count:.0f} right ones {flagged.total()} are: {dict(flagged)}"
    )
    print(said)
    assert missed.total() <= MAX_MISSED * count, said
    assert flagged.total() <= MAX_FLAGGED * count, said
    assert not missed["plain 1"] and not flagged["plain 1"]


def test_what_is_removed_is_said_and_places_are_those_of_the_answer(
    results: veridical.Results,
) -> None:
    texts = {row["id"]: row["response"] for row in rows()}
    hidden = [r for r in results if str(r.id).startswith("invisible ")]
    assert len(hidden) > 100
    for result in hidden:
        assert result.invisible, result.id
        assert "removed before judging" in result.explain()
        for unit in result.spans:
            assert unit.text == texts[str(result.id)][unit.start : unit.end]
    assert all(r.invisible is None for r in results if not str(r.id).startswith("invisible "))
    assert f"{len(hidden)} answers have invisible characters" in str(results)


def test_a_statement_that_nobody_sees_is_none() -> None:
    for fact in FACTS:
        for shown in ("", "I hope this helps."):
            result = veridical.check_one(
                shown + tags(f" {fact.wrong}."),
                contexts=fact.context,
                question=fact.question,
                nli="mini",
            )
            assert (result.verdict, result.reason) == ("unchecked", "no_statement")
            assert result.invisible == len(fact.wrong) + 2


def test_what_nobody_sees_in_a_source_supports_nothing() -> None:
    for fact in FACTS:
        source = fact.context + tags(f" {fact.wrong}.")
        statement = fact.wrong[0].upper() + fact.wrong[1:] + "."
        found = veridical.check_one(statement, contexts=[source], nli="mini")
        assert found.verdict in FLAGGED and found.invisible is None
        for unit in found.spans:
            for item in unit.evidence:
                assert item.text == source[item.start : item.end]
