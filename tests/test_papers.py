"""``coverage.md``: what counts as a measured figure, as a test and as a page."""

from __future__ import annotations

import re
from dataclasses import replace
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


def test_what_is_no_figure(papers: ModuleType) -> None:
    """Counts of what was scored, and the row of a scorer that gives the same to all."""
    table = [
        "| Scorer | AP | AUROC | Scored / total | Coverage | Flags |",
        "|---|---|---|---|---|---|",
        "| `exact_match` | - | - | 1,908/1,908 | 100% |  |",
        "| `cosine` | - | - | 60 / 60 | 100% | **constant** |",
        "| `luq` | 0.500 | 0.500 | 60 / 60 | 100% | **one class**, **constant** |",
        "| `kle` | 0.612 [0.5, 0.7] | - | 60 / 60 | 100% |  |",
    ]
    measured = [s for s in ("exact_match", "cosine", "luq", "kle") if papers._measures(table, s)]
    assert measured == ["kle"]
    assert "evidence/wikibio-nli.md" not in papers._pages("exact_match")


def test_the_page_counts_what_is_whole_and_what_is_a_part(
    papers: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = next(e for e in papers.ENTRIES if e.status == "regenerated" and e.whole)
    entry = replace(whole, id="A table 1")
    part = replace(entry, id="A table 2, first row", whole=False)
    named = replace(part, id="A table 3", status="named model")
    monkeypatch.setattr(papers, "ENTRIES", (entry, part, part, named))
    told = papers._counts()
    assert "3 entries are regenerated without a model: 1 whole (A table 1), and 2 in part." in told
    assert "1 have a command" in told and "tables and figures of the papers are in 4" in told


def test_rows_that_differ_from_the_paper_say_so(papers: ModuleType) -> None:
    by_what = {row.what: row for rows in papers.SYSTEMS.values() for row in rows}
    for what, said in (
        ("position of a claim in answer and source (B.3)", "embeddings of spans"),
        ("MSP and perplexity", "none of MSP"),
        ("1 to 10 forced errors in summaries of legal documents (figure 4)", "**no**"),
        ("tests of factors, chosen by normality", "p-values"),
        ("HaloCheck", "`halocheck`"),
    ):
        assert said in papers._line(by_what[what]), what


def test_msp_is_measured_as_the_product_of_probabilities() -> None:
    script = (ROOT / "benchmarks/mirage_grid.py").read_text("utf-8")
    asked = re.findall(r"sequence_probability[^,\s]*", script)
    assert set(asked) == {"sequence_probability(length_normalize=false)"}


def test_figures_of_a_paper_are_none_of_ours(papers: ModuleType) -> None:
    text = (ROOT / "docs" / "reproduction.md").read_text("utf-8")
    for scorer in ("unieval", "critic", "q2"):  # each in a table of the paper's figures
        assert f"| `{scorer}` |" in text
        assert list(papers._pages(scorer)) == ["evidence/mirage-stand-ins.md"]
    assert "reproduction.md" in papers._pages("ngram(counting=paper)")
    assert "reproduction.md" in papers._pages("selfcheck_prompt")
    assert "reproduction.md" not in papers._pages("selfcheck_prompt(form=published)")


def test_a_row_says_which_of_its_scorers_have_no_figures(papers: ModuleType) -> None:
    found = papers._found(papers.Row("", ("cosine", "bleurt")))
    assert found[-1] == "none of `bleurt`"
    assert papers._found(papers.Row("", ("bleurt", "veridical bench"))) == []


def test_links_are_to_what_is_there(papers: ModuleType) -> None:
    place = "evidence/claim-methods.md#several-checkers"
    assert papers._link(place, "NLI") == f"[claim-methods]({place}) (NLI)"
    assert papers._link("evidence/summary.md") == "[summary](evidence/summary.md)"
    for place in ("guide.md#nothing", "nothing.md"):
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
