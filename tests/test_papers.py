"""``coverage.md``: what counts as a measured figure, as a test and as a page."""

from __future__ import annotations

from types import ModuleType

import pytest
from docs_modules import docs_module
from places import ROOT


@pytest.fixture(scope="module")
def papers() -> ModuleType:
    return docs_module("papers")


def test_what_a_table_measures(papers: ModuleType) -> None:
    table = [
        "| task | n | `answer_relevancy` | claims |",
        "|---|---|---|---|",
        "| `avg_logprob`, `perplexity` | .41 |",
        "| **`snne(similarity=cosine)`** | .60 |",
        "| judge(template=likert) | .34 |",
        "| `kle` | the same for all |",
    ]
    for scorer in (
        *("answer_relevancy", "avg_logprob", "perplexity", "snne", "snne(similarity=cosine)"),
        *("judge", "judge(template=likert)"),
    ):
        assert papers._measures(table, scorer), scorer
    for scorer in ("claims", "cosine", "snne(similarity=nli)", "judge(template=like)", "kle"):
        assert not papers._measures(table, scorer), scorer


def test_figures_of_a_paper_are_none_of_ours(papers: ModuleType) -> None:
    text = (ROOT / "docs" / "reproduction.md").read_text("utf-8")
    for scorer in ("unieval", "critic", "q2"):  # each in a table of the paper's figures
        assert f"| `{scorer}` |" in text
        assert list(papers._pages(scorer)) == ["results/mirage-stand-ins.md"]
    assert "reproduction.md" in papers._pages("ngram(counting=paper)")
    assert "reproduction.md" in papers._pages("selfcheck_prompt")
    assert "reproduction.md" not in papers._pages("selfcheck_prompt(form=published)")


def test_a_row_says_which_of_its_scorers_have_no_figures(papers: ModuleType) -> None:
    found = papers._found(papers.Row("", ("cosine", "bleurt")))
    assert found[-1] == "none of `bleurt`"
    assert papers._found(papers.Row("", ("bleurt", "veridical bench"))) == []


def test_links_are_to_what_is_there(papers: ModuleType) -> None:
    place = "claims.md#several-checkers-the-label-of-most-of-them"
    assert papers._link(place, "NLI") == f"[claims]({place}) (NLI)"
    assert papers._link("results/README.md") == "[results](results/README.md)"
    for place in ("claims.md#nothing", "nothing.md"):
        with pytest.raises(LookupError, match="nothing"):
            papers._link(place)


def test_tests_are_those_of_a_file_or_named(papers: ModuleType) -> None:
    spectral = "scorers/consistency/spectral.py"
    assert papers._tests_of(spectral, "kle") == ("tests/scorers/consistency/test_kle.py",)
    assert papers._tests_of("claims/majority.py", "majority") == ("tests/claims/test_majority.py",)
    assert papers._tests_of("veridical_lab/commands/train_repc.py", "train_repc") == (
        "packages/veridical-lab/tests/repc/test_repc_checker.py",
    )
    with pytest.raises(LookupError, match="name it in TESTS"):
        papers._tests_of("claims/xyzzy.py", "xyzzy")
