"""Copied words, masked contexts, filtered questions and hard cases, with the embedded models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from refchecker_sources import write_lines

import veridical
from veridical.api import Job
from veridical.core.scores import Result
from veridical.engine.engine import Engine
from veridical.errors import UsageError
from veridical.llm.fake import FakeLlm
from veridical_lab.studies.refchecker.copying import copy_rate, copying
from veridical_lab.studies.refchecker.filtering import CHECKS, UNDECIDED, filter_questions
from veridical_lab.studies.refchecker.hard import hard_cases
from veridical_lab.studies.refchecker.judged import judged_claims
from veridical_lab.studies.refchecker.masking import bias, checkers_of, masked


def watch(name: str, job: Job) -> Iterator[Result]:
    return iter(job.wait())


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine(store=None, nli="mini") as made:
        yield made


@pytest.mark.parametrize(
    ("triplet", "context", "rate"),
    [
        (("Ada", "was born in", "London"), "Ada was born in London.", 1.0),
        # 1-grams 5 of 5, 2-grams 4 of 4, 3-grams 2 of 3, 4-grams 1 of 2
        (("Ada", "was born in", "London"), "Ada was born in 1815 in London.", 3.1667 / 4),
        (("Ada", "was", "Rich"), "RICH ada!", (2 / 3) / 3),
        (("Ada", "was", "rich"), "Nothing.", 0.0),
        (("Ada", "", ""), "ada", 1.0),
        (("", "-", ""), "ada", 0.0),
    ],
)
def test_copy_rate_is_the_mean_share_of_n_grams(
    triplet: tuple[str, str, str], context: str, rate: float
) -> None:
    assert copy_rate(triplet, [context]) == pytest.approx(rate, abs=1e-4)
    assert copy_rate(triplet, ["Other words.", context]) == pytest.approx(rate, abs=1e-4)


def published(folder: Path) -> Path:
    """Claims that people labelled: what is copied is entailed, but for one."""
    rows = [
        ("Neutral", ["the mayor", "lives", "abroad"]),
        ("Contradiction", ["bronze", "costs", "nothing"]),
        ("Entailment", ["the town", "lies in", "the north"]),
        ("Entailment", ["the town", "has", "a harbour"]),
        ("Neutral", ["the town", "has", "a harbour"]),
        ("bad triplet", ["the", "the", "the"]),
    ]
    claims = [
        {
            "setting": "noisy_context",
            "model": f"m{i % 3}",
            "id": str(i // 3),
            "response": "...",
            "triplet": triplet,
            "human_label": label,
        }
        for i, (label, triplet) in enumerate(rows)
    ]
    write_lines(folder / "claims.jsonl", *claims)
    texts = ["The town lies in the north.", "The town has a harbour."]
    write_lines(
        folder / "references.jsonl", *({"id": str(i), "references": texts} for i in range(2))
    )
    return folder


def test_copying_of_what_people_labelled(tmp_path: Path, engine: Engine) -> None:
    judged = judged_claims(published(tmp_path), engine, watch)
    told = copying(judged)
    (part,) = told.parts
    assert told.by == "people" and told.left_out == {"bad triplets": 1}
    assert (part.part, part.n, part.responses) == ("noisy_context", 5, 5)
    # entailed claims copy all; of the others one does too: of 6 pairs 4 are right, 2 are ties
    assert part.auroc == pytest.approx(5 / 6)
    last = part.bins[-1]
    assert (last.n, last.entailment, last.neutral) == (
        3,
        pytest.approx(2 / 3),
        pytest.approx(1 / 3),
    )
    assert sum(b.n for b in part.bins) == 5 and part.bins[2].entailment is None


def test_annotations_without_references_say_how_to_make_them(
    tmp_path: Path, engine: Engine
) -> None:
    published(tmp_path)
    (tmp_path / "references.jsonl").unlink()
    with pytest.raises(UsageError, match=r"study refchecker references.*5 claims without a ref"):
        judged_claims(tmp_path, engine, watch)
    rows = write_lines(tmp_path / "r.jsonl", {"response": "It is red."}, {"response": 3})
    with pytest.raises(UsageError, match=r"1 records without contexts; 1 rows that cannot"):
        judged_claims(rows, engine, watch)


@pytest.mark.parametrize(
    ("triplet", "context", "expected"),
    [
        (("Ada", "was born in", "London"), "Ada, born in LONDON.", "Ada, born in ####."),
        (("Ada", "was born in", "Paris"), "Ada of Adaville.", "#### of Adaville."),
        (("he", "won", "the Nobel  Prize"), "A Nobel\nprize it was.", "A #### it was."),
        (("he", "won", "gold medals"), "Medals of gold: gold.", "#### of ####: ####."),
        (("he", "cost", "C++ (old)"), "C++ it was.", "#### it was."),
        (("he", "is", "the"), "the end", None),
        (("Ada", "was", "rich"), "Nothing.", None),
    ],
)
def test_masked(triplet: tuple[str, str, str], context: str, expected: str | None) -> None:
    found = masked(triplet, [context, "Beside."])
    assert found == (None if expected is None else (expected, "Beside."))


def test_a_checker_that_reads_finds_nothing_in_masked_contexts(
    tmp_path: Path, engine: Engine
) -> None:
    rows = [
        {"response": f"{who} was born in {where}.", "contexts": [f"{who} was born in {where}."]}
        for who, where in (
            ("Ada Lovelace", "London"),
            ("Marie Curie", "Warsaw"),
            ("Albert Einstein", "Ulm"),
        )
    ]
    path = write_lines(tmp_path / "r.jsonl", *rows)
    told = bias(judged_claims(path, engine, watch), checkers_of("nli, nli"), engine, watch)
    (one,) = told.checkers
    assert (one.checker, one.n, one.failed) == ("nli", 3, 0)
    assert one.whole.entailment == 1.0 and one.masked.entailment == 0.0
    assert one.not_neutral == pytest.approx(one.masked.contradiction)
    nowhere = write_lines(tmp_path / "n.jsonl", {**rows[0], "contexts": ["A thing."]})
    empty = bias(judged_claims(nowhere, engine, watch), checkers_of("nli"), engine, watch)
    assert empty.checkers == []
    assert empty.left_out == {"claims whose contexts have neither tail nor head": 1}
    with pytest.raises(UsageError, match="checker"):
        checkers_of("guess")


def test_questions_that_a_judge_says_yes_to_are_dropped() -> None:
    rows = [
        {"id": "1", "setting": "zero_context", "question": "Who rules now?", "references": ["Al."]},
        {"id": "2", "question": "Who wrote Emma?", "references": ["Jane Austen wrote Emma."]},
        {"id": "3", "question": "Which is it?", "references": ["| 1 | 2 |"]},
        {"id": "4", "setting": "noisy_context", "question": "Who rules now?", "references": ["x"]},
        {"id": "5", "question": "What is mumbled?", "references": ["So."]},
    ]

    def says(request: object) -> str:
        text = str(request)
        if "mumbled" in text and "next year" in text:
            return "Hm."
        dated = "rules now" in text and "next year" in text
        table = "| 1 |" in text and "a table" in text
        return "Yes" if dated or table else "No"

    with Engine(store=None, llm=FakeLlm(says)) as asked:
        kept, told = filter_questions(rows, asked, watch)
    assert [row["id"] for row in kept] == ["2", "4"]
    assert (told.asked, told.kept, told.passed_by) == (4, 1, 1)
    dated, table = (CHECKS[f"refchecker_drop_{name}"] for name in ("dated", "table"))
    assert told.reasons == {dated: 1, table: 1, UNDECIDED: 1}
    assert {d.id: d.reasons for d in told.dropped} == {"1": [dated], "3": [table], "5": [UNDECIDED]}


def answered(folder: Path, name: str, *cities: str) -> Path:
    facts = {"a": "Ada was born in London.", "b": "Curie was born in Warsaw."}
    rows = [
        {"id": key, "response": f"{text.rsplit(' ', 1)[0]} {city}.", "contexts": [text]}
        for (key, text), city in zip(facts.items(), cities, strict=False)
    ]
    out = folder / name
    veridical.check(write_lines(folder / f"{name}.jsonl", *rows), nli="mini", out=out, store=None)
    return out


def test_hard_cases_are_those_that_most_models_get_wrong(tmp_path: Path) -> None:
    runs = [
        answered(tmp_path, "gpt", "London", "Paris"),
        answered(tmp_path, "llama", "London", "Rome"),
        answered(tmp_path, "falcon", "Tokyo", "Cairo"),
    ]
    told = hard_cases(runs, 1)
    (first,) = told.chosen
    assert (first.id, first.hardness, first.judged) == ("b", 1.0, 3)
    assert (told.runs, told.questions, told.unchecked) == (3, 2, 0)
    second = hard_cases(runs, 9).chosen[1]
    assert (second.id, second.hardness) == ("a", pytest.approx(1 / 3))
    with pytest.raises(UsageError, match="at least 2 runs"):
        hard_cases(runs[:1], 1)
    short = answered(tmp_path, "short", "London")
    with pytest.raises(UsageError, match="id 'b' is in one of them only"):
        hard_cases([runs[0], short], 1)
    (tmp_path / "no").mkdir()
    with pytest.raises(UsageError):
        hard_cases([tmp_path / "no", short], 1)


def test_hard_cases_refuse_results_that_cannot_be_paired(tmp_path: Path) -> None:
    row = {"id": "a", "response": "It is red.", "contexts": ["It is red."]}
    path = write_lines(tmp_path / "twice.jsonl", row, row)
    veridical.check(path, preset="fast", out=tmp_path / "twice", store=None)
    with pytest.raises(UsageError, match="two results of id 'a'"):
        hard_cases([tmp_path / "twice"] * 2, 1)


def test_what_has_no_verdict_is_no_hard_case(tmp_path: Path) -> None:
    row = {"id": "a", "response": "It is red.", "contexts": ["It is red."]}
    path = write_lines(tmp_path / "rows.jsonl", row)
    for name in ("first", "second"):
        veridical.check(path, preset="fast", out=tmp_path / name, store=None)
    told = hard_cases([tmp_path / "first", tmp_path / "second"], 5)
    assert told.chosen == [] and (told.questions, told.unchecked) == (1, 1)
