"""Whole runs in which an extractor or a checker writes what it should not."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest
from hostile_outputs import LABELS, NUMBERED, PASSAGE, RESPONSE, ROWS, TEXTS, TRUTH, outputs

import veridical
from veridical.core.messages import ChatRequest, Reply
from veridical.core.records import Record
from veridical.llm.fake import FakeLlm

OUTPUTS = outputs()
#: Labels by the claim as a checker reads it; a sentence without claims is one itself.
SENTENCES = [s.text.strip() for s in Record(response=RESPONSE).sentences]
WORST = ("Contradiction", "Neutral", "Entailment")
BY_CLAIM = {
    sentence: min((label for _, of, label in TRUTH if of == i), key=WORST.index)
    for i, sentence in enumerate(SENTENCES)
}
BY_CLAIM |= dict(zip(TEXTS, LABELS, strict=True)) | {
    "({})".format(", ".join(map(json.dumps, row))): label
    for row, label in zip(ROWS, LABELS, strict=True)
}
SCORERS = {
    "triplets": "claims(extractor=llm_triplets, checker=llm_joint)",
    "subsentence": "claims(extractor=llm_subsentence, checker=llm_joint)",
    "atomic": "claims(extractor=llm_atomic, checker=llm_joint)",
    "joint": "claims(extractor=llm_triplets, checker=llm_joint)",
    "single": "claims(extractor=llm_triplets, checker=llm)",
}


def claims_in(text: str) -> dict[str, str]:
    """Claims of a request, by the name of their fence."""
    found = re.findall(r"<(claim(?:_\d+)?)-([0-9a-f]{12})>\n(.*?)\n</\1-\2>", text, re.DOTALL)
    return {name: claim for name, _, claim in found}


def honest(text: str) -> tuple[str, str]:
    """Who is asked, and what an honest model says."""
    claims = claims_in(text)
    if '"triplets"' in text:
        return "triplets", json.dumps({"triplets": ROWS})
    if "Claims in Response" in text:
        return "subsentence", json.dumps({"claims": NUMBERED})
    if '"facts"' in text:
        sentence = text.split("<sentence-")[1]
        facts = [t for t, (row, _, _) in zip(TEXTS, TRUTH, strict=True) if row[2] in sentence]
        return "atomic" if facts == TEXTS[:2] else "atomic of others", json.dumps({"facts": facts})
    if "claim" in claims:
        return "single", json.dumps({"answer": BY_CLAIM[claims["claim"]]})
    return "joint", json.dumps({name: BY_CLAIM[c] for name, c in claims.items()})


def by_case(case: int):
    """Writes output ``case`` where it belongs, and is honest elsewhere."""
    output = OUTPUTS[case]

    def script(request: ChatRequest) -> Reply:
        text = request.messages[-1]["content"]
        asked, said = honest(text)
        if asked != output.of:
            return Reply(said, "stop")
        label = BY_CLAIM.get(claims_in(text).get("claim", ""), "")
        other = "Neutral" if label != "Neutral" else "Entailment"
        said = output.text
        if asked == "single":
            said = said.replace("@", label).replace("~", other)
        return Reply(said, output.finish_reason)

    return script


def score_all(of: str) -> tuple[dict[int, dict], Counter[int]]:
    """Scores of the records in which ``of`` writes its outputs, all in one run; and how many claims
    were asked for singly. The case stands in the question, or in what the sentence follows."""
    cases = [i for i, output in enumerate(OUTPUTS) if output.of == of]
    asked: Counter[int] = Counter()
    found = {}

    def script(request: ChatRequest) -> Reply:
        case = int(request.messages[-1]["content"].rpartition("Case ")[2].split(":")[0])
        reply = by_case(case)(request)
        asked[case] += "claim" in claims_in(request.messages[-1]["content"])
        return reply

    rows = [
        {"id": i, "prompt": f"Case {i}: who was she?", "response": RESPONSE, "contexts": PASSAGE}
        for i in cases
    ]
    if of == "atomic":  # its prompt has no question
        for i in cases:
            with veridical.Engine(llm=FakeLlm(by_case(i)), store=None, processes=0) as engine:
                (line,) = veridical.check(
                    [rows[cases.index(i)]], SCORERS[of], engine=engine
                ).lines()
            found |= read(line)
        return found, asked
    with veridical.Engine(llm=FakeLlm(script), store=None, processes=0) as engine:
        for line in veridical.check(rows, SCORERS[of], engine=engine).lines():
            found |= read(line)
    assert list(found) == cases  # none is lost, none out of order
    return found, asked


def read(line: bytes) -> dict[int, dict]:
    result = json.loads(line)
    (score,) = result["scores"].values()
    return {result["id"]: score}


@pytest.fixture(scope="module", params=SCORERS)
def run(request):
    return score_all(request.param)


def problem(output, score: dict, asked: int) -> str | None:
    """What is wrong with what became of ``output``; None if it is one of what may."""
    may_fail = output.result in ("fails", "told", "safe")
    if score["status"] == "failed" and may_fail:
        if score["risk"] is not None or score["units"]:
            return "a failure with a verdict"
        reason = score["reason"]
        told = reason.startswith(("LlmError: ", "ModelError: ")) and len(reason) <= 300
        return None if told and "\n" not in reason else f"no reason: {reason!r}"
    if score["status"] != "scored" or output.result == "fails":
        return f"{score['status']}, risk {score['risk']}: {score['reason']}"
    raw = score["raw"]
    verdicts = {c["text"]: u["label"] for c, u in zip(raw["claims"], score["units"], strict=True)}
    if len(verdicts) != len(score["units"]):
        return "a claim twice"
    wrong = {t: v for t, v in verdicts.items() if BY_CLAIM.get(t, "").lower() != v}
    if wrong:
        return f"wrong verdicts: {wrong}"
    for unit in score["units"]:
        if RESPONSE[unit["start"] : unit["end"]] != unit["text"]:
            return "a place that is not the response's"
    if {c["sentence"] for c in raw["claims"]} != set(range(len(SENTENCES))):
        return "a sentence that nobody checked"
    if output.result in ("less", "told"):
        # a sentence takes the place of the claim, where that was its only one
        if output.result == "less" and len(TRUTH) - len(verdicts) not in (0, 1):
            return f"{len(verdicts)} claims"
        return None if raw["left_out"] else "a claim lost in silence"
    if len(verdicts) != len(TRUTH):
        return f"{len(verdicts)} claims, left out: {raw['left_out']}"
    if output.of == "joint" and (output.result == "asked") != bool(asked):
        return f"{asked} asked again"
    return None


def test_there_are_more_than_500():
    assert len(OUTPUTS) == len(set(OUTPUTS)) >= 500
    assert {o.of for o in OUTPUTS} == set(SCORERS)


def test_no_output_changes_a_verdict_in_silence(run):
    found, asked = run
    wrong = [
        f"{i} {OUTPUTS[i].of}/{OUTPUTS[i].kind} {OUTPUTS[i].text[:80]!r}: {why}"
        for i, score in found.items()
        if (why := problem(OUTPUTS[i], score, asked[i])) is not None
    ]
    assert not wrong, f"{len(wrong)} of {len(found)}:\n" + "\n".join(wrong[:40])


def test_honest_outputs_have_their_scores(run):
    """What the others are held to: one claim in five is contradicted, one not mentioned."""
    found, _ = run
    right = [i for i in found if OUTPUTS[i].kind == "wrapped" and OUTPUTS[i].result == "right"]
    for i in right:
        raw = found[i]["raw"]
        assert (raw["label"], found[i]["risk"]) == ("contradiction", 1)
        assert (raw["contradiction"], raw["neutral"]) == (pytest.approx(0.2), pytest.approx(0.2))
