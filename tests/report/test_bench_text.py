"""The terminal view of a benchmark."""

from __future__ import annotations

import io

from bench_builders import HOSTILE, bench, full, hostile, row, split, study, unknown
from rich.console import Console

from veridical.evaluate.result import Bench
from veridical.report.bench_text import print_bench


def printed(made: Bench, **more: object) -> str:
    out = io.StringIO()
    print_bench(made, Console(file=out, **more))  # type: ignore[arg-type]
    return out.getvalue()


def test_a_scorer_with_its_interval_its_paper_and_its_counts() -> None:
    rows = [
        row(value=0.8564, ci_low=0.841, ci_high=0.87),
        row(metric="trapezoid_pr", value=0.856, paper=0.8563),
        row("constant", value=0.73, ci_low=None, ci_high=None),
    ]
    text = printed(bench(rows=rows, splits=[split()]))
    first, facts = text.splitlines()[:2]
    assert "wikibio · nonfact" in first
    assert "n 1,908 · positive 1,392 (inaccurate) · prevalence 0.730" in facts
    assert "independent units 238" in facts
    line = next(x for x in text.splitlines() if x.startswith("ngram"))
    wanted = "ngram 0.856 [0.841, 0.870] 0.856 (0.856) 1,908/1,908 100%"
    assert " ".join(line.split()) == wanted


def test_baselines_come_below_the_scorers() -> None:
    lines = [x.split()[0] for x in printed(full(1, 3)).splitlines() if x.strip()]
    assert lines.index("constant") > lines.index("support")
    assert lines.index("selfcheck_nli") < lines.index("support")


def test_baselines_of_labels_are_told_below_a_ranking() -> None:
    rows = [row(), row("always_positive", "f1", value=0.8722), row("majority", "mcc", value=0.0)]
    text = printed(bench(rows=rows, splits=[split()]))
    assert "\nalways_positive: F1 0.872\n" in text
    assert "majority" not in text


def test_flags_are_shown_at_the_scorer_and_explained_once() -> None:
    text = printed(full(3))
    assert text.count(" ! no better than length") == 3
    assert text.count("It was not shown to do better than the length of the response.") == 1


def test_the_best_is_compared_with_each_other() -> None:
    text = printed(full(1, 4))
    assert "not distinguishable from support: 0.041 [0.011, 0.071], p = 0.188" in text
    assert "better than knowledge_f1: 0.061 [0.031, 0.091], p = 0.047" in text


def test_failures_are_never_silent() -> None:
    text = " ".join(printed(full(1)).split())
    assert "569/600 94.8%" in text
    assert "failed: checkembed, 31 of 600: 30 times: the model gave no answer" in text
    assert "avg. precision could be 0.759 to 0.789" in text
    assert "bad rows, counted as failed for every scorer: 1" in text


def test_a_scorer_that_scored_nothing_stays_in_the_table() -> None:
    text = printed(bench(rows=[row()], splits=[split(scorers=["ngram", "dead"])]))
    assert next(x for x in text.splitlines() if x.startswith("dead")).split()[-2:] == ["none", "-"]


def test_a_pipe_gets_a_hundred_columns_and_the_console_its_width_back() -> None:
    out = io.StringIO()
    console = Console(file=out, width=80)
    made = full(1)
    made.study = study()
    print_bench(made, console)
    assert 90 < max(map(len, out.getvalue().splitlines())) <= 100
    assert console.width == 80
    assert "…" not in out.getvalue()


def test_foreign_text_can_neither_style_nor_steer_the_terminal() -> None:
    text = printed(hostile(), force_terminal=False)
    assert "\x1b" not in text and "\u202e" not in text
    assert "[bold]x[/bold]" in " ".join(text.split())
    assert HOSTILE not in text


def test_nothing_known_and_nothing_at_all() -> None:
    assert "avg. prec." in printed(unknown())
    assert "There is no figure" in printed(bench())
    assert "no scorer" in printed(bench(splits=[split(scorers=[])]))


def test_a_study_alone() -> None:
    text = printed(bench(study=study(2)))
    assert "alignment with people: begin · cmu/dev" in text
    assert "threshold fitted on test: " in text
    assert "does a factor change the score?" in text
    assert "There is no figure" not in text
