"""What is said of a tuned ensemble: the verdict, the command, the figures drawn."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from scipy.special import expit

from veridical.ensembles.graded import Graded
from veridical.tuning.nested import caught
from veridical.tuning.options import TuneOptions
from veridical.tuning.tune_figures import figures
from veridical.tuning.tune_text import print_tuned, tuned_markdown, write_tuned_page
from veridical.tuning.tune_view import verdict
from veridical.tuning.tuned import Tuned, tune_graded


def tuned(worth: tuple[float, ...], n: int = 240, **options: object) -> Tuned:
    """An ensemble of scorers that are worth this much."""
    rng = np.random.default_rng(3)
    labels = (rng.random(n) < 0.4).astype(np.float64)
    risks = expit(rng.normal(size=(n, len(worth))) + np.outer(labels - 0.5, worth))
    names = ("ngram", "support", "exact_match")[: len(worth)]
    graded = Graded.of(dict(zip(names, risks.T, strict=True)), labels)
    return tune_graded(graded, TuneOptions(**{"bootstrap": 60, **options}))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def better() -> Tuned:
    return tuned((2.0, 2.0, 0.5), calibrate="platt")


@pytest.fixture(scope="module")
def no_better() -> Tuned:
    return tuned((3.0, 0.0), n=80)


def test_wrong_answers_found_at_a_tenth_of_false_alarms() -> None:
    order = np.array([0.1] * 9 + [0.6, 0.5, 0.7, 0.8, np.nan])
    labels = np.array([0.0] * 10 + [1.0] * 4)
    found = caught(labels, order)
    assert found is not None
    assert (found.caught, found.wrong) == (3, 3)  # 0.6 is the one right answer of ten
    assert found.threshold == pytest.approx(0.3)
    assert caught(labels[:9], order[:9]) is None
    flat = caught(np.array([0.0, 1.0]), np.array([0.5, 0.5]))
    assert flat is not None and (flat.caught, flat.wrong, flat.threshold) == (0, 1, 0.5)


def test_a_better_ensemble_is_to_be_used(better: Tuned) -> None:
    answer = verdict(better)
    nested = better.nested
    assert nested.caught is not None and nested.best is not None
    found = f"finds {nested.caught.caught} of {nested.caught.wrong} wrong answers at 10% false"
    assert answer.sentence.startswith(f"The tuned ensemble {found}")
    assert f"the best single scorer, {nested.best.name}, finds" in answer.sentence
    threshold = better.ensemble.fit.threshold
    assert threshold is not None
    assert list(answer.command) == [
        "veridical check answers.jsonl",
        "--scorers \"ensemble(file='ensemble.json')\"",
        f"--fail-over {round(threshold, 4):g}",
    ]


def test_an_ensemble_that_is_no_better_is_not(no_better: Tuned) -> None:
    answer = verdict(no_better)
    assert answer.sentence.startswith("Use ngram alone: the tuned ensemble is no")
    assert answer.command[1] == "--scorers ngram"
    best = no_better.nested.best
    assert best is not None and best.caught is not None
    gate = f"--fail-over ngram:{round(best.caught.threshold, 4):g}"
    assert answer.command[2] == gate
    told = no_better.as_dict()["honest"]
    assert told["false_alarms"] == 0.1
    assert told["components"][0]["caught"] == {
        "caught": best.caught.caught,
        "wrong": best.caught.wrong,
    }


def test_the_terminal_says_the_verdict_first_within_eighty_columns(better: Tuned) -> None:
    out = io.StringIO()
    print_tuned(better, Console(file=out, width=80))
    lines = out.getvalue().splitlines()
    assert lines[0].startswith("The tuned ensemble finds ")
    assert max(map(len, lines)) <= 80 and "…" not in out.getvalue()
    assert sum(line.startswith("component ") for line in lines) > 1
    better_by = next(line for line in lines if "ensemble better by" in line)
    assert better_by.index("ensemble better by") < better_by.rindex("95 % interval")


def test_what_is_of_no_use_is_one_line(no_better: Tuned) -> None:
    assert no_better.nested.not_helping == ("support",)
    text = tuned_markdown(no_better)
    assert text.count("Of no use here, could be left out: support.") == 1
    assert "could be left out, and" not in text
    assert text.startswith("## Verdict\n\n**Use ngram alone")


def test_charts_are_drawn_and_sparse_where_answers_are_few(
    better: Tuned, no_better: Tuned, tmp_path: Path
) -> None:
    many, few = figures(better), figures(no_better)
    titles = ["Weights", "Precision and recall", "Risks of wrong and right answers", "Reliability"]
    assert [f.title for f in many] == [f.title for f in few] == titles
    assert len(many[2].rows) == 10 and len(few[2].rows) == 5
    wrong = sum(int(r[1]) for r in many[2].rows)
    assert wrong == better.ensemble.fitted_on.positive
    assert {r[0] for r in many[3].rows} == {"before calibration", "after"}
    assert {r[0] for r in few[3].rows} == {"risk"}
    write_tuned_page(better, tmp_path / "t.html")
    page = (tmp_path / "t.html").read_text("utf-8")
    assert page.index('class="answer"') < page.index("Reliability") < page.index("AUROC alone")
    assert page.count("<script>") == 1 and 'id="theme"' in page
