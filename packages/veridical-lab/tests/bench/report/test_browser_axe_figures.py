"""The pages of bench, tune and rank by axe-core, in light and dark, wide and narrow: no violation,
and nothing wider than the window.

VERIDICAL_AXE=node_modules/axe-core/axe.min.js pytest tests/report/test_browser_axe_figures.py
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from axe import SHOWN, axe_source, opened, violations
from bench_builders import answered, full, hostile, study
from scipy.special import expit
from study_scripts import made_up

from veridical.ensembles.graded import Graded
from veridical.stats.tables import Comparison
from veridical.tuning.options import TuneOptions
from veridical.tuning.tune_text import write_tuned_page
from veridical.tuning.tuned import tune_graded
from veridical_lab.bench.report.html import write_bench_report
from veridical_lab.rank.rank_html import write_ranking_report
from veridical_lab.rank.result import ModelRates, Part, Ranking, Rate
from veridical_lab.studies.checkembed.html import write_studies_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


def ranking() -> Ranking:
    """Two models whose rates do not differ."""
    names = ("a-model", "another/model-with-a-long-name-7b")
    rates = {
        name: Rate(value=0.2, low=0.1, high=0.3, rank=1.5, rank_low=1, rank_high=2)
        for name in ("contradiction", "neutral", "hallucination", "entailment", "abstain")
    }
    models = [
        ModelRates(
            model=name,
            n_responses=40,
            n_prompts=40,
            n_claims=120,
            n_abstained=0,
            n_failed=1,
            n_not_applicable=0,
            n_left_out=0,
            coverage=0.98,
            rates=rates,
        )
        for name in names
    ]
    pair = Comparison(
        a=names[0],
        b=names[1],
        metric="contradiction",
        difference=0.0,
        ci_low=-0.1,
        ci_high=0.1,
        p_bootstrap=0.9,
        p_holm=0.9,
    )
    part = Part(
        name="all",
        n_prompts=40,
        models=models,
        comparisons=[pair],
        cliques={"contradiction": [list(names)]},
    )
    return Ranking(
        order="contradiction",
        scorer="claims",
        paired_by="prompt",
        signature="claims|abc",
        created="2026-11-21T12:00:00",
        version="0.3",
        settings={"seed": 0},
        signatures={"claims": "claims|abc"},
        parts=[part],
        notes=["Only two models."],
    )


def graded(n: int) -> Graded:
    rng = np.random.default_rng(0)
    labels = (rng.random(n) < 0.4).astype(np.float64)
    risks = expit(rng.normal(size=(n, 3)) + np.outer(labels - 0.5, [2.0, 2.0, 0.0]))
    names = ("ngram(n=2,stat=max)", "support", "exact_match")
    return Graded.of(dict(zip(names, risks.T, strict=True)), labels)


def bench_page(path: Path) -> None:
    whole = full(2)
    whole.study = study()
    write_bench_report(whole, path)


def tune_page(path: Path) -> None:
    options = TuneOptions(bootstrap=20, calibrate="platt", alpha=0.2)
    write_tuned_page(tune_graded(graded(300), options), path)


PAGES: dict[str, Callable[[Path], None]] = {
    "bench": bench_page,
    "answered": lambda path: write_bench_report(answered(), path),
    "hostile": lambda path: write_bench_report(hostile(), path),
    "tune": tune_page,
    "few": lambda path: write_tuned_page(tune_graded(graded(40), TuneOptions(bootstrap=20)), path),
    "rank": lambda path: write_ranking_report(ranking(), path),
    "studies": lambda path: write_studies_report(made_up(), path),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the file of a page, which is written once."""
    folder = tmp_path_factory.mktemp("pages")

    @cache
    def write(name: str) -> Path:
        path: Path = folder / f"{name}.html"
        PAGES[name](path)
        return path

    return write


# pages of one template follow each other, and get both
@pytest.mark.parametrize(
    ("name", "size", "scheme"), [(name, *SHOWN[i % 2]) for i, name in enumerate(PAGES)]
)
def test_axe_finds_nothing_and_the_page_fits(
    browser: Browser, written: Callable[[str], Path], name: str, size: str, scheme: str
) -> None:
    source = axe_source()
    path = written(name)
    with opened(browser, path, size, scheme) as page:
        button = page.locator("#theme")
        assert button.inner_text() == "Theme: auto"
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        page.add_style_tag(content=".split { content-visibility: visible !important; }")
        assert violations(page, source) == []
        button.click()
        assert button.inner_text() == "Theme: light"
        assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
