"""``select`` and ``repair`` together: the selected answer is the one that is repaired."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import veridical
from veridical.core.messages import ChatRequest
from veridical.core.scores import Result
from veridical.decide.repair import apply
from veridical.llm.fake import FakeLlm
from veridical.report.decision_payload import decision_of

GOOD = "The tower is 57 m tall."
HALF = "The tower is 57 m tall. It was moved to Peru."
BAD = "The bridge opened in Chile. Nobody knows why."
ROWS: list[dict[str, Any]] = [
    # neither answer is wholly supported, and the second sample is nearer to the context
    {"id": "sample", "response": BAD, "samples": [BAD, HALF], "contexts": GOOD},
    {"id": "response", "response": HALF, "samples": [BAD], "contexts": GOOD},
    {"id": "nobody", "response": "", "samples": []},
    {"id": "fine", "response": BAD, "samples": [GOOD], "contexts": GOOD},
]
SCORER = "support(against=contexts)"


def both(rows: Any, how: str = "drop", **settings: Any) -> list[Result]:
    return list(veridical.check(rows, SCORER, select="best", repair=how, **settings))


def test_the_selected_answer_is_repaired_and_scored_again() -> None:
    sample, response, nobody, fine = both(ROWS)
    for result, answer in ((sample, HALF), (response, HALF)):
        chosen, made = result.selected, result.repair
        assert chosen is not None and made is not None
        assert chosen.text == answer and made.of == "selected"
        assert (made.status, made.text) == ("changed", GOOD)
        assert [answer[c.start : c.end] for c in made.changes] == [c.text for c in made.changes]
        assert apply(answer, made.changes) == made.text
        (alone,) = veridical.check([{"response": GOOD, "contexts": GOOD}], SCORER)
        assert (made.risk, made.by, made.remaining) == (alone.risk, alone.by, 0)
    assert sample.selected is not None and (sample.selected.kind, sample.selected.index) == (
        "sample",
        1,
    )
    (plain,) = veridical.check(ROWS[:1], SCORER)
    assert sample.risk == plain.risk and sample.scores == plain.scores  # the response's own
    assert nobody.selected is not None and nobody.selected.kind is None
    assert nobody.repair is not None and nobody.repair.status == "not_applicable"
    assert fine.selected is not None and fine.repair is not None
    assert (fine.repair.status, fine.repair.text) == ("unchanged", GOOD)
    assert fine.repair.risk == fine.selected.risk and fine.repair.remaining == 0


def test_it_is_judged_by_the_other_answers() -> None:
    row = {
        "response": "It opened in Mali. It closed in 1999.",
        "samples": ["It opened in Peru. It closed in 1999.", "It closed in 1999. It was in Cuba."],
    }
    scorer = "exact_match, support(against=samples)"
    (made,) = veridical.check([row], scorer, select="best", repair="drop")
    assert made.selected is not None and made.repair is not None
    answers = [row["response"], *row["samples"]]
    place = 0 if made.selected.kind == "response" else (made.selected.index or 0) + 1
    others = answers[:place] + answers[place + 1 :]
    assert (made.repair.status, made.repair.text) == ("changed", "It closed in 1999.")
    alone = {"response": made.repair.text, "samples": others}
    (again,) = veridical.check([alone], scorer)
    assert made.repair.risk == pytest.approx(again.risk)


def test_each_answer_has_its_own_decision(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text("accept = 0.1\nreject = 0.9\n", "utf-8")
    result = both(ROWS[:1], policy=policy)[0]
    assert result.selected is not None and result.repair is not None
    for risk, decision in (
        (result.risk, result.decision),
        (result.selected.risk, result.selected.decision),
        (result.repair.risk, result.repair.decision),
    ):
        assert risk is not None
        assert decision == ("accept" if risk <= 0.1 else "reject" if risk >= 0.9 else "review")
    assert result.repair.decision == "accept" != result.decision


def test_an_llm_is_asked_about_the_selected_answer() -> None:
    asked: list[ChatRequest] = []

    def script(request: ChatRequest) -> str:
        asked.append(request)
        return json.dumps({"sentences": [{"id": 1, "text": "It is old."}]})

    (result,) = both(ROWS[:1], "rewrite", llm=FakeLlm(script))
    assert result.repair is not None and result.repair.text == f"{GOOD} It is old."
    (request,) = asked
    text = "\n".join(str(m["content"]) for m in request.messages)
    assert "[1] It was moved to Peru." in text and "Chile" not in text


def test_one_run_keeps_repairs_of_responses_and_of_selected_answers_apart(tmp_path: Path) -> None:
    out = tmp_path / "run"
    first = both(ROWS, out=out)
    plain = list(veridical.check(ROWS, SCORER, repair="drop", out=out))
    assert plain[0].selected is None and plain[0].repair is not None
    assert plain[0].repair.of == "response" and plain[0].repair.text == "Nobody knows why."
    assert both(ROWS, out=out) == first
    assert len(list(out.glob("repair-*"))) == 2


def test_the_page_says_which_answer_was_repaired() -> None:
    result = both(ROWS[:1])[0]
    page = decision_of(result, str)
    assert page["repair"]["of"] == "selected" and page["selected"]["text"] == HALF
    (change,) = page["repair"]["changes"]
    assert HALF[change["start"] : change["end"]] == change["text"]
