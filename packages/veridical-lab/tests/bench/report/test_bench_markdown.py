"""The Markdown view of a benchmark."""

from __future__ import annotations

import re

from bench_builders import answered, bench, full, hostile, row, split, study, unknown

from veridical.report.document import code, text
from veridical_lab.bench.report.bench_document import markdown
from veridical_lab.bench.study import factors


def columns(line: str) -> int:
    """Cells of a table line: pipes that are not escaped, less one."""
    return len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) - 1


def test_tables_are_whole_whatever_the_text() -> None:
    for made in (full(2), hostile(), unknown(), bench(study=study())):
        width = 0
        for line in markdown(made).splitlines():
            if not line.startswith("|"):
                width = 0
                continue
            width = width or columns(line)
            assert columns(line) == width, line


def test_figures_papers_and_flags() -> None:
    rows = [row(value=0.5, ci_low=0.4, ci_high=0.6, paper=0.434, flags=["inverted", "small_n"])]
    made = markdown(bench(rows=rows, splits=[split()]))
    assert "| Scorer | avg. precision (95 % interval) | paper | Scored / total" in made
    line = "| `ngram` | 0.500 [0.400, 0.600] | 0.434 | 1,908/1,908 | 100% | **inverted** |"
    assert line in made
    assert "independent units 238 · **small n**" in made  # of the split, said once
    assert "- **inverted**: The negated score does better" in made


def test_comparisons_ranks_and_settings() -> None:
    made = markdown(full(1, 4))
    assert "- **not distinguishable from** `support`: difference 0.041 [0.011, 0.071]" in made
    assert "(critical difference): `selfcheck_nli` = `ngram(n=1,stat=max,counting=paper)`" in made
    assert "- signature: text" not in made
    assert "- signature: wikibio\\|v1" in made
    assert "- protocol: quick" in made
    assert "- `support`: support\\|v1\\|against:samples" in made


def test_foreign_text_is_text() -> None:
    made = markdown(hostile())
    assert "<img" not in made and "</script" not in made
    assert "\x1b" not in made and "\u202e" not in made
    assert text("a|b\n*c* <d>") == "a\\|b \\*c\\* &lt;d&gt;"
    assert code("ngram(n=1)") == "`ngram(n=1)`"
    assert code("`x`") == "\\`x\\`"


def test_the_answer_comes_first_with_the_command_as_code() -> None:
    lines = markdown(answered()).splitlines()
    assert lines[0] == "## Answer"
    assert lines[2].startswith("**Best at finding wrong answers: ngram(n=2); avg. precision 0.800")
    command = 'veridical check answers.jsonl --scorers "ngram(n=2)" --fail-over "ngram(n=2):0.42"'
    at = lines.index("    veridical check answers.jsonl \\")
    joined = " ".join(line.strip(" \\") for line in lines[at : at + 3])
    assert joined == command and lines[at - 1] == ""


def test_failures_give_their_reasons_and_bounds() -> None:
    wanted = (
        "- `checkembed` failed on 31 of 600 (30 × the model gave no answer; 1 × too long); "
        "avg. precision could be 0.759 to 0.789"
    )
    assert wanted in markdown(full(1))


def test_a_study_alone() -> None:
    made = markdown(bench(study=study(2)))
    assert made.startswith("## Beware of\n\n- **threshold fitted on test**: ")
    assert "\n## Meta-evaluation\n" in made
    assert "### Agreement with people: begin · cmu/dev" in made
    assert made.count("**not found**") == 4  # decoding (0.09) and size (1) of two scorers
    assert "not tested" not in made


def test_what_no_test_was_made_of_is_neither_found_nor_not_found() -> None:
    alone = factors(
        [
            {"model": "m-1B", "size": 1, "tuning": "chat", "decoding": d, "item": i, "scorer": "s"}
            | {"value": float(i + (d == "ancestral"))}
            for d in ("greedy", "ancestral")
            for i in range(4)
        ]
        + [
            {"model": "m-1B", "size": 1, "tuning": "chat", "decoding": d, "item": i, "scorer": "t"}
            | {"value": -i}
            for d in ("greedy", "ancestral")
            for i in range(4)
        ]
    )
    made = markdown(bench(study=alone))
    assert made.count("**not tested: there are no pairs**") == 2
    assert "| `2. t` | -0.919 | 1.000 |" in made
    assert "| all | s | decoding | greedy 1.500, ancestral 2.500 |" in made
