"""Scenarios by program: each statement decided again from the document."""

from __future__ import annotations

import datetime as dt
import json
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from training_scripts import training_script


@pytest.fixture(scope="module")
def programs() -> Iterator[Any]:
    with training_script("checker.programs") as found:
        yield found


@pytest.fixture(scope="module")
def situations(programs: Any) -> Iterator[Any]:
    with training_script("checker.situations") as found:
        yield found


@pytest.fixture(scope="module")
def languages() -> Iterator[Any]:
    with training_script("checker.languages") as found:
        yield found


def made(make: Callable[[random.Random], Any], most: int = 150) -> list[Any]:
    rng = random.Random(make.__name__)
    found = [one for one in (make(rng) for _ in range(most)) if one is not None]
    assert len(found) > most // 3
    return found


def cross(one: Any) -> Iterator[tuple[str, str, bool]]:
    """Both documents with both statements, and which is true."""
    for i, document in enumerate(one.documents):
        for j, statement in enumerate(one.statements):
            yield document, statement, i == j


def test_functions_return_what_is_said(programs: Any) -> None:
    for one in made(programs.functions):
        for document, statement, true in cross(one):
            names: dict[str, Any] = {}
            exec(document, names)  # noqa: S102
            function = next(v for k, v in names.items() if k != "__builtins__")
            head, _, said = statement.replace("`", "").rpartition(" ")
            numbers = [int(n) for n in re.findall(r"-?\d+", head)]
            assert (function(*numbers[:2]) == int(said.rstrip("."))) is true
        assert all("def " not in text for text in one.missing)


def test_settings_differ_in_what_is_said(programs: Any) -> None:
    for one in made(programs.settings):
        lines = [set(text.replace(" --", "\n--").splitlines()) for text in one.documents]
        assert len(lines[0] ^ lines[1]) == 2
        assert len(one.missing[0]) < min(map(len, one.documents))
        if one.documents[0].startswith("{"):
            before, after = (json.loads(text) for text in one.documents)
            changed = [
                (s, k) for s, own in before.items() for k, v in own.items() if after[s][k] != v
            ]
            assert len(changed) == 1
            section, key = changed[0]
            assert key not in json.loads(one.missing[0]).get(section, {})
            value = before[section][key]
            if not isinstance(value, bool):
                assert str(value) in one.statements[0]


def test_options(programs: Any) -> None:
    for one in made(programs.options):
        for document, statement, true in cross(one):
            option = re.search(r"(?<![\w-])--?\w[\w-]*", statement.replace("`", " "))
            assert option
            row = re.search(rf"[ ,]{re.escape(option[0])}\b.*", document)
            assert row
            meaning = re.sub(r"^ +", "", re.split(r"--[\w-]+ ", f" {row[0]}")[-1]).strip()
            folded = statement[:1].lower() + statement[1:]
            assert (meaning in folded) is true or meaning in statement, (row[0], statement)
        assert len(one.missing[0].splitlines()) == len(one.documents[0].splitlines()) - 1


def test_bills_add_up(programs: Any) -> None:
    checked = 0
    for one in made(programs.amounts):
        for document, statement, true in cross(one):
            cents = 0
            rows = re.findall(r"^(\d+) x (.*), .(\d+)\.(\d\d) each$", document, re.M)
            for n, _, whole, part in rows:
                cents += int(n) * (100 * int(whole) + int(part))
            said = re.findall(r"[€$£](\d+)\.(\d\d)", statement)[-1]
            if "before any reduction" in statement:
                good = next(r for r in rows if f"the {r[1]} lines" in statement.lower())
                wanted = int(good[0]) * (100 * int(good[2]) + int(good[3]))
            else:
                less = re.search(r"Reduction on goods: (\d+) %", document)
                charge = re.search(r"Carriage: .(\d+)\.(\d\d)", document)
                exact = cents * (100 - int(less[1] if less else 0)) / 100
                extra = 100 * int(charge[1]) + int(charge[2]) if charge else 0
                wanted = round(exact + extra, 3)  # type: ignore[assignment]
            found = 100 * int(said[0]) + int(said[1])
            assert (abs(found - wanted) <= 0.5) is true
            checked += true
        assert "on request" in one.missing[0]
    assert checked > 100


def test_changes_in_per_cent(programs: Any) -> None:
    for one in made(programs.shares):
        for document, statement, true in cross(one):
            a, b = map(
                float,
                re.findall(
                    r"(?<=at )\d+(?:\.\d+)?|\d+(?:\.\d+)?(?= at)|(?<=was )\d+(?:\.\d+)?", document
                ),
            )
            said = re.search(r"(rose|fell)(?: by)? (\d+) %", statement)
            assert said
            change = int(said[2]) * (1 if said[1] == "rose" else -1)
            assert (abs(100 * (b - a) / a - change) < 1e-9) is true


def test_ends(programs: Any) -> None:
    for one in made(programs.ends):
        for document, statement, true in cross(one):
            hour, minute = map(int, re.findall(r"\d+(?=:)|(?<=:)\d+", document)[:2])
            total = 60 * hour + minute + sum(map(int, re.findall(r"(\d+) minutes", document)))
            said = re.search(r"(\d\d):(\d\d)", statement)
            assert said
            assert (60 * int(said[1]) + int(said[2]) == total) is true


def test_deadlines(programs: Any) -> None:
    def day(text: str) -> dt.date | None:
        for pattern, form in (
            (r"\d{4}-\d\d-\d\d", "%Y-%m-%d"), (r"\d+ [A-Z][a-z]+ \d{4}", "%d %B %Y"),
            (r"[A-Z][a-z]+ \d+, \d{4}", "%B %d, %Y"),
        ):  # fmt: skip
            found = re.search(pattern, text)
            if found:
                return dt.datetime.strptime(found[0], form).date()
        return None

    for one in made(programs.deadlines):
        for document, statement, true in cross(one):
            start, span = day(document), re.search(r"(\d+) (day|week)s", document)
            assert start and span
            end = start + dt.timedelta(int(span[1]) * (7 if span[2] == "week" else 1))
            said = day(statement)
            if said is None:  # a weekday, which two spans can share
                assert not true or f"{end:%A}" in statement
            else:
                assert (said == end) is true


def test_two_passages_follow(situations: Any) -> None:
    for one in made(situations.hops):
        for document, statement, true in cross(one):
            facts = document.split("\n\n")
            who = re.search(
                r"[A-Z][a-z]+ [A-Z][a-z]+", statement.replace("The ", "").replace("What ", "")
            )
            assert who
            first = next(f for f in facts if who[0] in f)
            middle = re.search(
                r"[A-Z][a-z]+ [A-Z][a-z]+", first.replace(who[0], "").replace("The ", "")
            )
            assert middle
            second = next(f for f in facts if middle[0] in f and f != first)
            said = statement.rstrip(".").split()[-1]
            assert (said == second.rstrip(".").split()[-1]) is true
        for text in one.missing:
            assert len(text) < len(one.documents[0])


def test_conditions(situations: Any) -> None:
    for one in made(situations.conditions):
        for document, statement, true in cross(one):
            code = re.search(r"[A-Z]+-?\d+", statement)
            assert code
            parts = document.split("\n\n")
            rule = next(p for p in parts if not re.search(r"[A-Z]+-?\d+", p))
            case = next(p for p in parts if re.search(rf"{re.escape(code[0])}\b", p))
            limit, value = (
                int(re.findall(r"\d+", p.replace(code[0], ""))[0]) for p in (rule, case)
            )
            rows = [r for r in situations._RULES if r[0].format(t=limit) == rule]
            above, below = (rows[0][k].format(c=code[0]) for k in (2, 3))
            assert (statement == (above if value > limit else below)) is true


def test_who_is_in_place(situations: Any) -> None:
    for one in made(situations.changes):
        for text in one.documents:
            assert all(any(w in text for w in s.split()) for s in one.statements)
        days = [
            re.findall(r"\d+ [A-Z][a-z]+ \d{4}|[A-Z][a-z]+ \d+, \d{4}", t) for t in one.documents
        ]
        assert all(len(found) == 2 for found in days) and days[0] != days[1]


def test_a_reply_is_about_what_was_spoken_of(situations: Any) -> None:
    for one in made(situations.follow_up):
        talks = [text.rpartition("Conversation so far:")[2] for text in one.documents]
        assert talks[0] != talks[1]
        records = [text.rpartition("Conversation so far:")[0] for text in one.documents]
        for statement in one.statements:
            value = re.findall(r"\d[\d,.:-]*\d|\d", statement.rpartition("Answer:")[2])
            if value and "-" not in value[-1] and " " not in value[-1]:
                wanted = value[-1].replace(",", "").rstrip(".")
                flat = records[0].replace(",", "")
                assert wanted in flat or f"{float(wanted):g}" in flat if ":" not in wanted else True


def test_rows_of_scenarios_are_balanced_and_repeatable(programs: Any, situations: Any) -> None:
    makers = (
        programs.coded, programs.counted, programs.timed, situations.ruled, situations.current,
        situations.passages, situations.sourced, situations.stepwise, situations.talked,
    )  # fmt: skip
    for make in makers:
        one, two = (list(make(random.Random(2), 120)) for _ in range(2))
        assert one == two and len(one) > 40
        assert sum(r.right for r in one) * 2 == len(one)
        for right, wrong in zip(one[::2], one[1::2], strict=True):
            assert right.group == wrong.group and right.kind == wrong.kind
            assert (right.document, right.statement) != (wrong.document, wrong.statement)
            same = right.statement == wrong.statement
            assert same is (wrong.label == "not_stated")
            assert (right.document == wrong.document) is (not same)


def test_languages_have_every_wording(languages: Any) -> None:
    for name, of in languages.wordings().items():
        assert set(of) == {*languages.LANGUAGES, languages.ENGLISH}, name
        for wording in of.values():
            for text in (*wording.facts, *wording.claims):
                assert "{n}" in text and "{v}" in text and text.endswith(".")
            assert "{n}" in wording.missing
            assert not wording.more or ("{a}" in wording.more and "{b}" in wording.more)
    assert all(len(c.split()) == 7 for c in languages._COLOURS.values())


def test_statements_in_other_languages(languages: Any) -> None:
    found = list(languages.languages(random.Random(0), 600))
    assert {r.kind for r in found} == {"language", "cross_language"}
    assert sum(r.right for r in found) * 2 == len(found)
    checked = 0
    for row in found:
        number = re.search(r"\d+(?:[.,]\d+)?", row.statement)
        if not number:
            continue
        name = re.search(
            r"(?:Amber|Silent|Northern|Second|Golden|Broken|Quiet|Harbour|Winter|Copper|Paper|Lower)"
            r" [A-Z][a-z]+",
            row.statement,
        )
        assert name
        whole = number[0].replace(",", ".")
        about = [p for p in re.split(r"\n\n|\n(?=\|)", row.document) if name[0] in p]
        values = [v.replace(",", ".") for p in about for v in re.findall(r"\d+(?:[.,]\d+)?", p)]
        if row.label == "supported":
            assert whole in values
            checked += 1
    assert checked > 60
