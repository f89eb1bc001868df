"""Result lines and exit codes that were recorded before the layers were moved."""

from __future__ import annotations

import json
from typing import Any

import pytest
from replay_commands import APPLIED, CHECKS, RECORDED, Replayed, read_lines
from replay_compare import EXACT, bare, comparable, differences, of_models, raised

#: Texts that are others since 86c81d3.
NEW_TEXTS = {
    # the small NLI model is another one
    "nli:veridical-nli-mini@5ea9837e7a695f46": "nli:veridical-nli-mini@b727cdb9e6a92d01",
    # the judge's template has another version: a reply must be a verdict alone
    "correct_incorrect@d3a0a9c7": "correct_incorrect@0e8bdf01",
    # the address is named at which nobody answers
    "LlmError: silent: ConnectError": (
        "LlmError: silent: no server responds at http://127.0.0.1:9/v1: ConnectError"
    ),
}
#: Today's names of scores that were recorded by other names.
OLD_NAMES = {
    "ensemble(weights=label_free)": "ensemble",
    "ensemble(against=contexts,weights=label_free)": "ensemble(against=contexts)",
}
#: Cases in which an encoder or an NLI model has a part; the numbers of all others are exact.
WITH_MODELS = {
    *("embeddings", "nli", "tokens", "claims", "claims_option", "default", "ensembles"),
}
#: Scorers of another version since then.
RAISED = {
    # they judge short answers with their questions; nli_grounding reads not every window too
    *("noncontradiction", "entailment", "selfcheck_nli", "luq", "matched_unit", "halocheck"),
    *("semantic_density", "semantic_entropy", "semantic_negentropy", "semantic_sets"),
    *("eigv", "degree", "eccentricity", "kle", "nli_grounding", "claims", "factscore"),
    "summac_zs",
    # its default is few scorers with fitted weights
    "ensemble",
    # a model that runs here is asked for the verdict's token alone
    "judge",
    # values are compared with unit and owner
    "support",
}
#: Recorded as fine, and refused now: the file was tuned with scorers of another version.
REFUSED = "tuned_cascade"
EXITS = json.loads((RECORDED / "exits.json").read_text("utf-8"))


def recorded_lines(name: str) -> list[Any]:
    """Recorded result lines in today's words; none where it stopped before the work."""
    path = RECORDED / "lines" / f"{name}.jsonl"
    text = path.read_text("utf-8") if path.exists() else ""
    for old, new in NEW_TEXTS.items():
        text = text.replace(old, new)
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("name", [n for n in (*CHECKS, *APPLIED) if n != REFUSED])
def test_lines_and_exit_codes_are_the_recorded_ones(name: str, replayed: Replayed) -> None:
    outcome = replayed.outcomes[name]
    assert outcome.exit_code == EXITS[name], outcome.stderr
    tolerance = of_models() if name in WITH_MODELS else EXACT
    recorded, today = recorded_lines(name), replayed.lines(name)
    assert len(recorded) == len(today)
    for line in today:
        line["scores"] = {OLD_NAMES.get(k, k): v for k, v in line["scores"].items()}
    kept = [comparable(*lines, tolerance) for lines in zip(recorded, today, strict=True)]
    assert list(differences(kept, today, tolerance)) == []


def test_only_known_scorers_have_another_version() -> None:
    lines = [line for path in (RECORDED / "lines").iterdir() for line in read_lines(path)]
    scores = [score for line in lines for score in line["scores"].items()]
    assert {bare(call) for call, score in scores if raised(score)} == RAISED
    assert all("|v1|" in score["signature"] for _, score in scores)


def test_an_ensemble_tuned_on_other_versions_is_refused(replayed: Replayed) -> None:
    outcome = replayed.outcomes[REFUSED]
    assert EXITS[REFUSED] == 0 and outcome.exit_code == 1
    assert "'entailment|v1|" in outcome.stderr and "tune again" in outcome.stderr
    assert replayed.lines(REFUSED) == []


def test_sampled_answers_are_the_recorded_ones(replayed: Replayed) -> None:
    assert replayed.outcomes["sample"].exit_code == 0
    recorded = read_lines(RECORDED / "sampled.jsonl")
    again = read_lines(replayed.folder / "sampled.jsonl")
    for rows in (recorded, again):
        for row in rows:
            del row["meta"]["sampling"]["run"]  # of the command, which seals and keys may change
    assert list(differences(recorded, again)) == []
