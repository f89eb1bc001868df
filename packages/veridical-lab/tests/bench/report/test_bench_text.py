"""The terminal view of a benchmark."""

from __future__ import annotations

import io

from bench_builders import HOSTILE, answered, bench, full, hostile, row, split, study, unknown
from rich.console import Console

from veridical.report.formats import shell, some
from veridical_lab.bench.benchmark import Bench
from veridical_lab.bench.report.bench_answer import check_command
from veridical_lab.bench.report.bench_document import print_bench


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
    lines = text.splitlines()
    facts = " ".join(lines[lines.index("wikibio · nonfact") + 1 :][:2])
    assert "n 1,908 · positive 1,392 (inaccurate) · prevalence 0.730" in facts
    assert "independent units 238" in facts
    line = next(x for x in lines if x.startswith("ngram"))
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
    text = printed(full(3), width=200)
    assert text.count(" ! no better than length") == 3
    assert text.count("It was not shown to do better than the length of the response.") == 1


def test_the_best_is_compared_with_each_other() -> None:
    text = printed(full(1, 4))
    assert "not distinguishable from support: difference 0.041 [0.011, 0.071], p = 0.188" in text
    assert "better than knowledge_f1: difference 0.061 [0.031, 0.091], p = 0.047" in text


def test_failures_are_never_silent() -> None:
    text = " ".join(printed(full(1)).split())
    assert "569/600 94.8%" in text
    assert (
        "failed: checkembed failed on 31 of 600 (30 × the model gave no answer; 1 × too long)"
        in text
    )
    assert "avg. precision could be 0.759 to 0.789" in text
    assert "bad rows, counted as failed for every scorer: 1" in text


def test_a_scorer_that_scored_nothing_stays_in_the_table() -> None:
    text = printed(bench(rows=[row()], splits=[split(scorers=["ngram", "dead"])]))
    assert next(x for x in text.splitlines() if x.startswith("dead")).split()[-2:] == ["none", "-"]


def test_everything_fits_eighty_columns_with_whole_heads_and_nothing_cut() -> None:
    made = full(1)
    made.study = study()
    text = printed(made, width=80)
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    heads = [x for x in text.splitlines() if x.startswith(("Scorer ", "Data "))]
    assert len(heads) > 2  # wide tables are drawn in parts
    for wanted in ("avg. prec.", "95 % interval", "trap. PR (paper)", "AUROC", "scored", "cover."):
        assert any(wanted in head for head in heads)


def test_the_answer_comes_first_with_a_command_to_copy() -> None:
    text = printed(answered(), width=80)
    assert text.splitlines()[:11] == [
        "Best at finding wrong answers: ngram(n=2); avg. precision 0.800 [0.780, 0.820], ",
        "graded · all",
        "No significant difference from it (paired test, p > 0.05): support.",
        "Without any method: the length of the answer 0.410, a random order 0.300.",
        "Suggested threshold: 0.42, fitted to all these labels. Fitted without the ",
        "answers it is judged on, it finds 78.0% of them; 12.0% of the others are false ",
        "alarms.",
        "",
        "  veridical check answers.jsonl \\",
        '      --scorers "ngram(n=2)" \\',
        '      --fail-over "ngram(n=2):0.42"',
    ]
    assert "Beware of" not in text


def test_a_scorer_that_a_trivial_one_equals_is_not_recommended() -> None:
    rows = [row(flags=["not_better_than_length"])]
    text = " ".join(printed(bench(rows=rows, splits=[split()])).split())
    assert "No scorer can be recommended for finding inaccurate sentences" in text
    assert "it is not shown to be better than the length of the answer" in text
    assert "veridical check" not in text
    assert "no better than length: It was not shown" in text and "Raised for: ngram." in text


def test_a_condition_on_a_label_is_told_in_words() -> None:
    made = bench(rows=[row()], splits=[split(positive="label >= 0.5")])
    assert printed(made).startswith("Best at finding wrong sentences (label >= 0.5): ngram")


def test_what_no_test_compared_and_what_is_better_than_all() -> None:
    made = answered(comparisons=[])
    assert "No paired test compares it" in printed(made)
    made = answered()
    made.splits[0].comparisons[0].p_holm = 0.01
    assert "Better than every other scorer" in printed(made)
    made = answered(suggested=[])
    assert "No threshold follows from these labels" in printed(made)
    assert "--fail-over" not in printed(made)


def test_names_are_quoted_for_the_shell() -> None:
    assert check_command("risk", 0.5)[1:] == ["--fail-over 0.5"]
    assert check_command("support", 0.25)[1:] == ["--scorers support", "--fail-over support:0.25"]
    assert shell("claims(nli='x')") == "\"claims(nli='x')\""
    assert shell("$(rm)") == "'$(rm)'"
    assert some([str(i) for i in range(9)]) == "0, 1, 2, 3, 4, 5 and 3 more"


def test_foreign_text_can_neither_style_nor_steer_the_terminal() -> None:
    text = printed(hostile(), force_terminal=False)
    assert "\x1b" not in text and "\u202e" not in text
    assert "[bold]x[/bold]" in " ".join(text.split())
    assert HOSTILE not in text


def test_nothing_known_and_nothing_at_all() -> None:
    assert "avg. prec." in printed(unknown())
    assert "This benchmark has no figures" in printed(bench())
    assert "No scorer has a figure" in printed(bench(splits=[split(scorers=[])]))


def test_a_study_alone() -> None:
    text = printed(bench(study=study(2)))
    assert "Agreement with people: begin · cmu/dev" in text
    assert "threshold fitted on test: " in text
    assert "Does a factor change the score?" in text
    assert "This benchmark has no figures" not in text
