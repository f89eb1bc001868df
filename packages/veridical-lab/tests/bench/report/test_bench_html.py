"""The benchmark page: what it holds, and that a browser shows it without trouble."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bench_builders import HOSTILE, answered, bench, full, hostile, row, split, study, unknown
from browsing import SIZES, until

from veridical.errors import UsageError
from veridical_lab.bench.benchmark import Bench
from veridical_lab.bench.report.html import write_bench_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

VOID = {"meta", "link", "input", "br", "wbr", "img"}


class Tree(html.parser.HTMLParser):
    """Elements in order, their text, and whether every one is closed in its place."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def written(made: Bench, folder: Path) -> str:
    path = folder / "bench.html"
    write_bench_report(made, path, title="Runs")
    return path.read_text("utf-8")


def study_too(made: Bench) -> Bench:
    made.study = study()
    return made


MADE: dict[str, Callable[[], Bench]] = {
    "full": lambda: study_too(full(2)),
    "one scorer": lambda: full(1, 1),
    "no rows": bench,
    "no scorers": lambda: bench(splits=[split(scorers=[])]),
    "unknown": unknown,
    "study": lambda: bench(study=study()),
    "hostile": hostile,
}


@pytest.mark.parametrize("name", MADE)
def test_the_page_is_sound_and_needs_nothing_from_outside(name: str, tmp_path: Path) -> None:
    text = written(MADE[name](), tmp_path)
    tree = Tree(text)
    assert (tree.wrong, tree.open) == ([], [])
    ids = [a["id"] for _, a in tree.elements if "id" in a]
    assert len(ids) == len(set(ids))
    for tag, attributes in tree.elements:
        assert "style" not in attributes and "src" not in attributes
        assert not any(a.startswith("on") for a in attributes)
        if "href" in attributes:
            assert str(attributes["href"]).startswith(("#", "data:image/svg+xml,"))
        if "for" in attributes or tag == "a":
            assert str(attributes.get("href")).startswith("#")


def test_policy_allows_exactly_this_style_and_this_script(tmp_path: Path) -> None:
    text = written(full(1, 2), tmp_path)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', text)
    for tag in ("style", "script"):
        (content,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src &#39;sha256-{digest}&#39;" in policy
    assert policy.startswith("default-src &#39;none&#39;")


def test_foreign_text_stays_text(tmp_path: Path) -> None:
    text = written(hostile(), tmp_path)
    assert "<img" not in text and "[bold]" in text
    assert text.count("</script>") == 1
    assert "{{7*7}}" in text and ">49<" not in text


def test_figures_are_beside_the_papers_with_their_difference(tmp_path: Path) -> None:
    made = bench(rows=[row(value=0.895, paper=0.434)], splits=[split()])
    text = written(made, tmp_path)
    assert '<small class="paper">paper 0.434 (+0.461)</small>' in text


def test_flags_are_named_with_their_scorers_above_all_else(tmp_path: Path) -> None:
    text = written(full(1), tmp_path)
    banner = text[text.index('class="banner bad') : text.index('id="split-1"')]
    assert banner.index(">inverted:<") < banner.index(">in-domain:<")
    assert "The negated score does better than the score" in banner
    assert "Raised for: sacrebleu." in banner
    assert "1 rows" in banner
    clean = written(bench(rows=[row()], splits=[split()]), tmp_path)
    assert 'class="banner' not in clean


def test_the_answer_comes_first_with_the_command(tmp_path: Path) -> None:
    text = written(answered(), tmp_path)
    first = text[text.index('class="answer"') : text.index('id="split-1"')]
    assert "Best at finding wrong answers: ngram(n=2)" in first
    assert "Suggested threshold: 0.42" in first
    assert "--fail-over &#34;ngram(n=2):0.42&#34;" in first
    assert 'class="answer"' not in written(bench(study=study()), tmp_path)


def test_failures_show_reasons_and_bounds(tmp_path: Path) -> None:
    text = written(full(1), tmp_path)
    assert "30 × <bdi>the model gave no answer</bdi>" in text
    assert ">0.759 / 0.789<" in text


def test_every_plot_has_a_name_and_its_numbers(tmp_path: Path) -> None:
    text = written(study_too(full(1)), tmp_path)
    figures = re.findall(r"<figure.*?</figure>", text, re.DOTALL)
    assert len(figures) > 20
    for one in figures:
        assert re.search(r'<svg class="plot" role="img"[^>]*><title>[^<]+</title>', one)
        assert "<details" in one and "<tbody>" in one
    titles = " ".join(re.findall(r"<figcaption><strong><bdi>(.*?)</bdi>", text))
    for wanted in (
        "Precision and recall",
        "ROC",
        "Risk and coverage",
        "Accuracy at τ",
        "Reliability",
        "Accuracy by length",
        "by number of samples",
        "Rank correlation",
        "Critical differences",
        "Score distributions",
        "Overlap of correct predictions",
        "Predicted labels",
        "by model size",
        "by decoding",
    ):
        assert wanted in titles


def test_curves_are_read_off_in_their_table(tmp_path: Path) -> None:
    made = full(1, 1)
    curve = made.splits[0].curves[0]
    curve.precision_recall = [(0.0, 1.0), (0.5, 0.8), (1.0, 0.6)]
    text = written(made, tmp_path)
    table = text[text.index("Numbers: Precision and recall") :]
    cells = re.findall(r"<td>([^<]+)</td>", table)[:5]
    assert cells == ["0.960", "0.900", "0.800", "0.700", "0.640"]


def test_few_targets_are_drawn_in_few_bins_and_few_points_as_dots(tmp_path: Path) -> None:
    def shown(n: int) -> tuple[int, bool]:
        text = written(full(1, 1, n), tmp_path)
        table = text[text.index("Numbers: Score distributions") :]
        curve = text[text.index("<bdi>Precision and recall</bdi>") :]
        drawing = curve[: curve.index("</svg>")]
        return table[: table.index("</thead>")].count("from "), 'class="mark"' in drawing

    bins, _ = shown(600)
    assert bins == 20
    assert shown(12) == (5, True)


@pytest.mark.parametrize(
    ("flags", "threshold", "wanted"),
    [
        ([], "cross-fitted", "fitted on other folds"),
        (["threshold_fitted_on_test"], 0.4, "fitted on these very labels"),
    ],
)
def test_accuracy_by_length_says_where_thresholds_come_from(
    flags: list[str], threshold: object, wanted: str, tmp_path: Path
) -> None:
    made = full(1, 1)
    made.rows = [row("selfcheck_nli", "accuracy", flags=flags, threshold=threshold)]
    assert wanted in written(made, tmp_path)


def test_the_line_of_a_random_order_is_explained_only_where_it_is_drawn(tmp_path: Path) -> None:
    with_it = row()
    with_it.baselines.random = 0.731
    text = written(bench(rows=[with_it], splits=[split()]), tmp_path)
    assert "random order reaches (0.731)" in text
    text = written(bench(rows=[row()], splits=[split()]), tmp_path)
    assert "random order" not in text


def test_ten_splits_of_thirteen_scorers_stay_small(tmp_path: Path) -> None:
    assert len(written(full(10), tmp_path).encode()) < 3_000_000


def test_what_was_there_stays_when_the_page_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "bench.html"
    path.mkdir()
    with pytest.raises(UsageError, match="bench"):
        write_bench_report(full(1, 1), path)
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture
def visit(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Opens a page; afterwards nothing may have gone wrong, run or been asked of a network."""
    trouble: list[str] = []
    contexts = []

    def open_(
        made: Bench, *, size: str = "wide", scheme: str = "light", script: bool = True
    ) -> Page:
        written(made, tmp_path)
        uri = (tmp_path / "bench.html").as_uri()
        context = browser.new_context(
            viewport=SIZES[size],  # type: ignore[arg-type]
            color_scheme=scheme,  # type: ignore[arg-type]
            java_script_enabled=script,
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: trouble.append(f"console: {m.text}"))
        page.on("pageerror", lambda e: trouble.append(f"error: {e}"))
        page.on("dialog", lambda d: (trouble.append(f"dialog: {d.message}"), d.dismiss()))
        page.on(
            "request",
            lambda r: r.url.startswith((uri, "data:")) or trouble.append(f"request: {r.url}"),
        )
        page.goto(uri)
        if script:
            until(page, "'ready' in document.documentElement.dataset")
        return page

    yield open_
    for context in contexts:
        context.close()
    assert trouble == []


def order(page: Page, table: str) -> list[str]:
    return page.locator(f"{table} tbody th > bdi").all_text_contents()


@pytest.mark.browser
def test_tables_are_sorted_with_baselines_staying_below(visit: Callable[..., Page]) -> None:
    page = visit(full(1, 3))
    before = order(page, "table.main")
    assert before[:3] == ["selfcheck_nli", "ngram(n=1,stat=max,counting=paper)", "support"]
    head = page.locator("table.main thead button", has_text="AUROC")
    head.click()
    assert order(page, "table.main")[:3] == before[:3]
    head.click()
    turned = order(page, "table.main")
    assert turned[:3] == before[2::-1]
    assert sorted(turned[3:]) == sorted(before[3:])
    assert page.locator("table.main th[aria-sort=ascending]").inner_text().startswith("AUROC")


@pytest.mark.browser
def test_scorers_are_chosen_in_all_splits_at_once(visit: Callable[..., Page]) -> None:
    page = visit(full(2, 5))
    shown = page.locator("#split-2 .grid .figure").first.locator(".series:visible")
    assert shown.count() == 5
    page.locator("#split-1 .picker input").nth(1).uncheck()
    page.locator("#split-2").scroll_into_view_if_needed()
    assert shown.count() == 4
    page.locator("#split-2 [data-pick=top]").click()
    assert shown.count() == 3
    assert page.locator("#split-1 .picker input:checked").count() == 3


@pytest.mark.browser
def test_one_split_is_chosen_and_links_bring_others_back(visit: Callable[..., Page]) -> None:
    page = visit(study_too(full(2, 3)))
    page.locator("#choose").select_option("split-2")
    assert page.locator(".split:visible").count() == 1
    page.locator("a[href='#split-1']").click()
    until(page, "!document.getElementById('split-1').hidden")
    page.locator("#choose").select_option("")
    assert page.locator(".split:visible").count() == 3


@pytest.mark.browser
@pytest.mark.parametrize("name", MADE)
def test_every_page_opens_without_trouble_and_fits_a_phone(
    name: str, visit: Callable[..., Page]
) -> None:
    page = visit(MADE[name](), size="narrow", scheme="dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    if name == "hostile":
        assert HOSTILE.splitlines()[0][:20] in page.inner_text("main")


@pytest.mark.browser
def test_labels_stay_inside_their_drawings(visit: Callable[..., Page]) -> None:
    page = visit(study_too(full(1)))
    out = page.evaluate(
        """() => {
          for (const d of document.querySelectorAll('details')) d.open = true;
          for (const s of document.querySelectorAll('.split'))
            s.style.contentVisibility = 'visible';
          const found = [];
          for (const svg of document.querySelectorAll('svg[role=img]')) {
            const box = svg.getBoundingClientRect();
            for (const text of svg.querySelectorAll('text')) {
              const own = text.getBoundingClientRect();
              if (own.left < box.left - 1 || own.right > box.right + 1
                  || own.top < box.top - 1 || own.bottom > box.bottom + 1)
                found.push(text.textContent);
            }
          }
          return found;
        }"""
    )
    assert out == []


@pytest.mark.browser
def test_without_a_script_the_page_says_all_it_has_to(visit: Callable[..., Page]) -> None:
    page = visit(full(2, 4), script=False)
    assert page.locator(".split:visible").count() == 2
    assert page.locator("#split-1 .grid .figure").count() == 7
    assert page.locator("#split-1 .grid .figure").first.locator(".series:visible").count() == 4
    assert not page.locator("#theme").is_visible()
