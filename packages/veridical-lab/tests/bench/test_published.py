"""The papers' figures are the papers' figures, and everything said about them can be acted on."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
import shlex
import sys
from functools import cache
from pathlib import Path

import pytest
from places import ROOT
from typer.main import get_command

from veridical.cli.app import app
from veridical.core.registry import REGISTRY
from veridical.core.resolving import resolve
from veridical_lab.bench.benchmark import Bench
from veridical_lab.bench.datasets import NAMES
from veridical_lab.bench.datasets.suite import METRICS
from veridical_lab.bench.published import (
    ENTRIES,
    NOTES,
    PAPERS,
    Entry,
    Figure,
    checkembed,
    mirage,
    paper_figure,
    refchecker,
    selfcheckgpt,
    tunable_ensemble,
)
from veridical_lab.bench.published.table import Note, fraction, wikibio_row
from veridical_lab.bench.result import Alignment, AlignmentSplit, Row, Split, Study
from veridical_lab.studies.checkembed.options import STUDIES

BASELINES = {"", "random", "constant", "majority", "always_positive", "length", "tuned"}
SPLITS = {
    "wikibio": {"nonfact", "nonfact_star", "factual", "passage"},
    "begin": {"cmu/dev", "tc/dev", "wow/dev", "wow/test"},
    "halueval": {"qa", "dialogue", "summarization", "general"},
    "refchecker": set(refchecker.SPLITS),
    "refchecker_responses": {
        "all",
        *(f"{s}/{task}" for s in refchecker.SPLITS for task in ("factual", "rate")),
    },
    "ragtruth": {"task:Summary-right", "task:QA-right", "task:Data2txt-right"},
    "qa": {f"{part}-right" for part in tunable_ensemble.PARTS},
}
FIGURES = [f for e in ENTRIES for f in e.figures]


def rows_of(text: str, sep: str) -> list[list[str]]:
    lines = [line.strip().strip("|") for line in text.splitlines()]
    return [[cell.strip() for cell in line.split(sep)] for line in lines if sep in line]


def numbers(cells: list[str]) -> list[float]:
    return [float(c) for c in cells if re.fullmatch(r"-?\d+(\.\d+)?", c)]


# --- the figures are those of the papers' texts


@pytest.mark.data
def test_ngram_figures_are_those_of_selfcheckgpt_table_7(papers: dict[str, str]) -> None:
    printed = [
        numbers(r[1:])
        for r in rows_of(papers["selfcheckgpt"], "|")
        if re.fullmatch(r"\d-gram", r[0])
    ]
    assert len(printed) == 10  # five orders, average then maximum
    ours = [[float(x) for x in row.split()] for row in selfcheckgpt.NGRAM_ROWS.values()]
    assert ours == printed


@pytest.mark.data
def test_other_rows_of_selfcheckgpt_table_2(papers: dict[str, str]) -> None:
    found = {r[0]: r[1:] for r in reversed(rows_of(papers["selfcheckgpt"], "|"))}
    kept = {f.scorer for f in FIGURES if f.suite == "wikibio"}
    for name, scorer in (
        ("Random", "random"),
        ("w/ Unigram (max)", "ngram(counting=paper)"),
        ("w/ BERTScore", "selfcheck_bertscore(baseline=0.8312)"),
    ):
        assert scorer in kept
        for f in wikibio_row(scorer, " ".join(found[name])):
            assert any(
                (g.split, g.metric, g.scorer, g.value) == (f.split, f.metric, scorer, f.value)
                for g in FIGURES
            )
    assert found["WikiBio+Prompt"] == selfcheckgpt.WIKIBIO_PROMPT.split()
    for name, row in selfcheckgpt.WIKIBIO_ROWS.items():
        assert found[f"WikiBio+{name}"] == row.split()
    shares = re.search(r"516 \((27\.0)%\) accurate", papers["selfcheckgpt"])
    assert shares and figure("wikibio", "factual", "prevalence", "") == fraction(shares[1])


@pytest.mark.data
def test_checkembed_tables(papers: dict[str, str]) -> None:
    rows = rows_of(papers["checkembed"], "\t")
    by_name = {r[0].removeprefix("- "): r[1:] for r in rows}
    for model, printed in checkembed.TABLE_3.items():
        assert by_name[f"CHECKEMBED ({model})"] == printed.split()
    for n, row in checkembed.TABLE_6.items():
        assert by_name[str(n)] == row.split()
    models = [c for c in next(r for r in rows if r[0] == "#Samples")[1:] if c]
    assert tuple(models) == checkembed.TABLE_6_COLUMNS
    for model, values in checkembed.TABLE_7.items():
        assert tuple(numbers(by_name[model])[2::3]) == values
    for judge, (_, printed) in checkembed.JUDGES_7.items():
        assert by_name[judge] == printed.split()
    for reader, f1 in checkembed.HALLUDETECT.items():
        assert tuple(numbers(by_name[reader])[2::3]) == f1
    first = {r[0]: r[1:] for r in reversed(rows)}
    assert first["BertScore"] == ["67.7", "67.9"]
    assert (
        figure("wikibio", "passage", "pearson", "bert_score(baseline=0.5150192,form=matrix)")
        == 0.677
    )


@pytest.mark.data
def test_refchecker_tables(papers: dict[str, str]) -> None:
    rows = rows_of(papers["refchecker"], "|")
    table = rows[[r[0] for r in rows].index("Baseline Checkers") :]
    for name, values in refchecker.TABLE_5.items():
        printed = next(numbers(r[1:]) for r in table if r[0] == name.removeprefix("Mistral "))
        assert tuple(fraction(x) for x in printed[2::2]) == values  # accuracies of the settings
    counts = next(numbers(r[1:]) for r in rows if r[0] == "# triplets")
    assert tuple(counts[:3]) == refchecker.CLAIMS and counts[3] == sum(refchecker.CLAIMS)
    neutral = next(numbers(r[1:]) for r in rows if r[0] == "# neutral labels")
    assert neutral[0] == refchecker.NEUTRAL_ZERO_CONTEXT
    full = rows[[r[0] for r in rows].index("LoRA-sft-n2000") - 8 :]  # table 8
    for name, values in refchecker.TABLE_8.items():
        printed = next(numbers(r[1:]) for r in full if r[0] == name)
        assert tuple(fraction(x) for x in printed[3::2]) == values
    for name, values in refchecker.TABLE_7.items():
        # response, sentence, sub-sentence, triplet
        printed = next(n for r in rows if r[0] == name and len(n := numbers(r[1:])) == 4)
        assert tuple(fraction(printed[i]) for i in (0, 1, 3)) == values
    for name, columns in refchecker.TABLES_10_TO_12.items():
        row = f"Claude 2 + {name.removeprefix('RoBERTa-')}"
        found = [n for r in rows if r[0] == row and len(n := numbers(r[1:])) == 5]
        assert [tuple(fraction(x) for x in n) for n in found] == list(columns)


@pytest.mark.data
def test_mirage_tables(papers: dict[str, str]) -> None:
    text = papers["mirage"]
    columns: dict[str, list[float]] = {}
    names = {
        "Begin CMU": "cmu/dev",
        "Begin TC": "tc/dev",
        "Begin WoW": "wow/test",
        "HaluEval Dial": "dialogue",
        "HaluEval QA": "qa",
    }
    body = text[: text.index("Table 9: PRAUC")].rsplit("Dataset ROUGE-L", 1)[1]
    for line in body.splitlines():
        for name, split in names.items():
            if line.startswith(name):  # every number is there twice: "0.310.31"
                cells = line.removeprefix(name).split()
                columns[split] = [float(c[: len(c) // 2]) for c in cells if c != "-"]
    assert {s: v[-2] for s, v in columns.items()} == mirage.KNOWLEDGE_F1
    for at, ours in enumerate((mirage.ROUGE_L, mirage.SACREBLEU, mirage.BERTSCORE)):
        assert {s: columns[s][at] for s in mirage.HALUEVAL_SPLITS} == ours
    assert {s: v[-1] for s, v in columns.items()} == mirage.Q2_F1
    first = text[text.index("Weighted-F1 PRAUC") : text.index("Table 1: Agreement")]
    of_table_1 = {}
    for line in first.splitlines():
        for name, split in names.items():
            if line.startswith(name):  # the colours of the best are LaTeX, with numbers in them
                plain = re.sub(r"\\\S*|\{[^{}]*\}", " ", line.removeprefix(name))
                of_table_1[split] = re.findall(r"0\.\d\d", plain)
    for ours, place in ((mirage.CRITIC, 0), (mirage.CONSISTENCY, 2), (mirage.Q2_NLI, 4)):
        for split, value in ours.items():
            found = of_table_1[split]
            assert f"{value:.2f}" in found[place : 2 * place + 2], (split, place, found)
    # table 10: critic, GPT-4, ..., each as precision, recall and F1
    of_table_10 = {
        split: re.search(rf"^{name} ((?:0\.\d\d ?){{18}})$", text, re.M)
        for name, split in names.items()
    }
    assert {s: float(m[1].split()[5]) for s, m in of_table_10.items() if m} == mirage.GPT_4
    # table 10: consistency, K-BERTScore and the ensemble, as precision, recall, F1
    for name, value in mirage.ONE_CLASS.items():
        line = re.search(rf"^{name.replace('BEGIN', 'Begin')} ((?:0\.\d\d ?){{18}})$", text, re.M)
        assert line
        cells = [float(x) for x in line[1].split()]
        for column in (2, 3, 5):
            assert tuple(cells[3 * column + 1 : 3 * column + 3]) == value


@pytest.mark.data
def test_tunable_ensemble_table_1(papers: dict[str, str]) -> None:
    rows = [r for r in rows_of(papers["tunable-ensemble"], "\t") if len(numbers(r)) == 6]
    printed = [tuple(numbers(r)) for r in rows]
    assert printed == [values for row in tunable_ensemble.TABLE_1.values() for values in row]
    unlike = {}
    for name, (precision, recall, f1) in tunable_ensemble.TABLE_1.items():
        for part, p, r, f in zip(tunable_ensemble.PARTS, precision, recall, f1, strict=True):
            low, high = (2 * x * y / (x + y) for x, y in ((p - e, r - e) for e in (5e-4, -5e-4)))
            if not low - 5e-4 <= f <= high + 5e-4:  # not even by rounding
                unlike[name, part] = f"{2 * p * r / (p + r):.3f}"
    assert unlike == {("Entropy", "arc"): "0.927", ("BS Detector", "arc"): "0.919"}
    told = [n.text for n in NOTES if n.suite == "qa"]
    assert all(any(own in text for text in told) for own in unlike.values())


# --- what is said can be acted on


def figure(suite: str, split: str, metric: str, scorer: str) -> float:
    found = [
        f.value
        for f in FIGURES
        if (f.suite, f.split, f.metric, f.scorer, f.samples) == (suite, split, metric, scorer, None)
    ]
    assert found
    return found[0]


def test_ids_are_unique_and_every_status_has_its_reason_or_command() -> None:
    assert len({e.id for e in ENTRIES}) == len(ENTRIES)
    for e in ENTRIES:
        if e.status == "regenerated":
            assert e.command and (e.figures or e.reason), e.id
            assert all(f.model is None for f in e.figures), e.id
        elif e.status == "named model":
            assert e.command, e.id
            assert all(f.model for f in e.figures), e.id
        else:
            assert e.reason and not e.figures and not e.command, e.id
        assert not (e.reason or "").endswith("."), "the page adds it"


def test_no_reason_denies_a_scorer_that_is_here() -> None:
    names = {s.name for s in REGISTRY.all()}
    for e in ENTRIES:
        denied = re.findall(r"scorers? (\w+)(?:, (\w+) and (\w+))?, not in", e.reason or "")
        assert not {n for group in denied for n in group} & names, e.id


def test_every_paper_has_entries() -> None:
    assert len(PAPERS) == 5
    for paper in PAPERS:
        assert paper.ENTRIES and all(e.id.startswith(paper.PAPER) for e in paper.ENTRIES)


@pytest.mark.parametrize("f", FIGURES, ids=lambda f: f"{f.suite}-{f.split}-{f.metric}-{f.scorer}")
def test_figures_name_things_that_exist(f: Figure) -> None:
    assert f.suite in NAMES
    assert f.split in SPLITS[f.suite]
    known = {m for metrics in METRICS.values() for m in metrics}
    assert f.metric.partition(":")[0] in known | {"n_total", "prevalence"}
    assert f.metric == "n_total" or -1 <= f.value <= 1
    if f.scorer not in BASELINES:
        (bound,) = REGISTRY.parse(f.scorer)
        assert bound.key == f.scorer


def test_a_question_has_one_answer() -> None:
    keys = [
        (f.suite, f.split, f.metric, f.scorer, f.samples, f.value) for f in FIGURES if not f.model
    ]
    assert len({k[:5] for k in keys}) == len(set(keys))


@pytest.mark.parametrize("e", [e for e in ENTRIES if e.command], ids=lambda e: e.id)
def test_commands_would_be_understood(e: Entry) -> None:
    words = shlex.split(e.command or "")
    assert words[0] == "veridical" and words[1] in ("bench", "rank", "study")
    if words[1] == "study":
        study = get_command(app).commands["study"].commands[words[2]]  # type: ignore[attr-defined]
        assert set(study.make_context(words[2], words[3:]).params["studies"]) <= set(STUDIES)
        return
    command = get_command(app).commands[words[1]]  # type: ignore[attr-defined]
    context = command.make_context(words[1], words[2:])
    if words[1] == "rank":
        assert context.params["suite"] in NAMES
        assert context.params["scorer"] == "people" or REGISTRY.parse(context.params["scorer"])
        return
    assert set(context.params["suites"]) <= set(NAMES)
    if e.before is None:
        REGISTRY.parse(context.params["scorers"] or "support")
    else:  # the scorer takes a file that is not there yet
        words = shlex.split(e.before)
        assert words[:2] == ["veridical", "train"]
        method = get_command(app).commands["train"].commands[words[2]]  # type: ignore[attr-defined]
        made = method.make_context(words[2], words[3:]).params["out"]
        assert f"{words[2]}(model='{made}'" in context.params["scorers"]
    for option in ("embedder", "token_encoder"):
        kind, _, rest = (context.params[option] or "minilm").partition(":")
        assert kind in ("minilm", "torch", "tei")
        assert set(re.findall(r"[?&](\w+)=", rest)) <= {"layer", "dense"}


def test_commands_make_the_figures_they_stand_by() -> None:
    for e in ENTRIES:
        named = re.search(r'--scorers (?:"([^"]*)"|(\S+))', e.command or "")
        if named and e.before is None and "veridical bench" in (e.command or ""):
            against = re.search(r"--against (\w+)", e.command or "")
            bound = resolve(named[1] or named[2], against=against and against[1])
            keys = {b.key for b in bound}
            assert {f.scorer for f in e.figures} - BASELINES <= keys, e.id
            assert "--tuned" in (e.command or "") or "tuned" not in {f.scorer for f in e.figures}


# --- paper_figure


def test_paper_figure() -> None:
    value, notes = paper_figure("wikibio", "nonfact", "trapezoid_pr", "ngram(counting=paper)")
    assert value == 0.8563 and any("constant score" in n for n in notes)
    assert paper_figure("wikibio", "passage", "pearson", "ngram(counting=paper)", 20)[0] == 0.6471
    assert paper_figure("wikibio", "passage", "pearson", "ngram(counting=paper)", 10)[0] is None
    assert paper_figure("wikibio", "passage", "pearson", "ngram") == (None, ())
    assert paper_figure("wikibio", "nonfact", "average_precision", "random") == (None, ())
    assert paper_figure("wikibio", "factual", "trapezoid_pr", "random")[0] == 0.2704
    assert paper_figure("ragtruth", "task:Data2txt-right", "f1", "always_positive")[0] == 0.5258


def test_figures_of_models_are_not_put_beside_another_models() -> None:
    asked = (
        "wikibio",
        "passage",
        "pearson",
        "checkembed(judged=samples,rebase=sfr,stat=frobenius)",
    )
    assert figure(*asked) == 0.715
    value, notes = paper_figure(*asked)
    assert value is None and any("never the response" in n for n in notes)


def test_notes_on_the_known_errors() -> None:
    for metric, value in (("trapezoid_pr", 0.43), ("average_precision", None)):
        found, notes = paper_figure("begin", "wow/test", metric, "knowledge_f1")
        assert found == value
        assert any("0.434" in n and "inverted" in n for n in notes)
    for *asked, told in (
        ("halueval", "qa", "trapezoid_pr", "rouge_l", "0.307"),
        ("halueval", "qa", "trapezoid_pr", "knowledge_f1", "inverted"),
        ("ragtruth", "task:Summary-right", "f1", "support", "0.8722"),
    ):
        assert any(told in n for n in paper_figure(*asked)[1]), asked
    assert paper_figure("begin", "wow/dev", "trapezoid_pr", "knowledge_f1") == (None, ())


def test_counts_in_the_notes_on_refchecker_are_those_of_its_table() -> None:
    shares = {
        "zero_context": 1818 / 3319,
        "noisy_context": 2779 / 3420,
        "accurate_context": 3350 / 3994,
    }
    for at, (split, share) in enumerate(shares.items()):
        below = sum(row[at] < share for row in refchecker.TABLE_5.values())
        notes = paper_figure("refchecker", split, "accuracy", "majority")[1]
        assert len(notes) == 1 and f"{below} of the {len(refchecker.TABLE_5)} checkers" in notes[0]


def test_constants_in_the_notes_on_ties_follow_from_the_counts() -> None:
    # a constant's trapezoid joins (0, 1) and (1, prevalence)
    texts = {n.splits[0]: n.text for n in NOTES if n.suite == "wikibio" and "constant" in n.text}
    for split, share in (
        ("nonfact", 1392 / 1908),
        ("factual", 516 / 1908),
        ("nonfact_star", 0.2972),
    ):
        assert f"{(1 + share) / 2:.3f}" in texts[split]


def test_a_note_without_splits_is_about_all_of_them() -> None:
    note = Note("begin", "text", metrics=("auroc",), scorers=("ngram",))
    assert note.about("begin", "tc/dev", "auroc", "ngram(n=2)")
    assert not note.about("begin", "tc/dev", "auroc", "ngram_presence")
    assert not note.about("halueval", "qa", "auroc", "ngram")


# --- the page


@pytest.fixture()
def docs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs"), *sys.path])


def made_up() -> Bench:
    def row(suite: str, split: str, metric: str, scorer: str, value: float) -> Row:
        return Row(
            suite=suite,
            scorer=scorer,
            split=split,
            level="response",
            positive="hallucinated",
            metric=metric,
            value=value,
            n_total=10,
            n_scored=10,
            prevalence=0.25,
        )

    split = Split(
        suite="begin",
        split="wow/test",
        level="response",
        kind="binary",
        positive="hallucinated",
        n_total=3601,
        n_positive=2209,
        n_groups=10,
        headline="average_precision",
        scorers=["knowledge_f1"],
    )
    inverted = Alignment(
        scorer="knowledge_f1",
        area=0.9,
        area_inverted=0.4321,
        average_precision=0.9,
        precision=None,
        recall=None,
        f1=None,
        accuracy=None,
        threshold=None,
        threshold_on="test",
        predicted_positive=1,
        predicted_negative=1,
    )
    aligned = AlignmentSplit(
        suite="begin",
        split="wow/test",
        n=3601,
        prevalence=0.25,
        majority_f1=None,
        scorers=[inverted],
        spearman=[[1.0]],
        overlap=[[1.0]],
        length_edges=[],
        length_counts=[],
        lengths=[[]],
    )
    return Bench(
        suite="begin, wikibio",
        signature="",
        created="2026-01-01T00:00:00+00:00",
        version="0",
        rows=[
            row("begin", "wow/test", "trapezoid_pr", "knowledge_f1", 0.8888),
            row("wikibio", "nonfact", "trapezoid_pr", "ngram(counting=paper)", 0.8562),
            row("refchecker", "noisy_context", "accuracy", "majority", 0.80),
        ],
        splits=[split],
        study=Study(alignment=[aligned]),
    )


def test_the_page_shows_ours_the_papers_and_the_difference(docs: None) -> None:
    from measured import Measured  # type: ignore[import-not-found]
    from reproduction import page  # type: ignore[import-not-found]

    measured = Measured()
    measured.add(made_up())
    text = page(measured)
    assert "0.8562 (0.8563, -0.0001)" in text
    assert "| `knowledge_f1` inverted |" in text and "0.4321 (0.43, +0.0021)" in text
    assert "| begin wow/test | 3601 | 0.43 | 0.2500 | 0.4321 |" in text
    # figures that could not be had are dashes beside the paper's
    assert "- (0.8152)" in text
    # 78.36, 78.86, 76.67, 40.35, 71.75, 79.21 and 79.56 are below 0.80
    assert "| noisy_context | 0.8000 | 7 of 9:" in text
    assert "not in this version |" not in text
    for e in ENTRIES:
        assert e.id in text
        assert e.command is None or e.command in text
    assert "2026" not in text, "dates would make the page differ from run to run"


def test_the_page_prints_every_scorer_of_a_paper(docs: None) -> None:
    from measured import Measured
    from reproduction import page

    named = page(Measured()).split("## Measured with a language model")[1]
    parts = {p.splitlines()[0]: p for p in re.split("\n##+ ", named)}
    for e in ENTRIES:
        if e.status == "named model" and e.command:
            lines = parts[e.id].splitlines()
            for f in e.figures:
                rows = [x for x in lines if x.startswith(f"| `{f.scorer}` |")]
                assert any(
                    f"{f.value:.4g}" in row.split(" | ")[1:] or row.endswith(f" {f.value:.4g} |")
                    for row in rows
                ), (e.id, f)
    proxies = parts["SelfCheckGPT tables 2 and 8, figure 9, huggyllama/llama-30b"]
    assert proxies.count("\n| `") == 4
    table_1 = parts["Tunable ensemble table 1, entropy row"]
    assert "| scorer | metric | csqa-right | arc-right |" in table_1
    assert "| `semantic_negentropy` | recall | 0.987 | 0.948 |" in table_1


def test_the_page_has_what_a_model_that_runs_here_reaches(docs: None) -> None:
    from measured import Measured
    from reproduction import LOCAL, page

    local = json.loads(LOCAL.read_text(encoding="utf-8"))
    assert {id for part in local for id in part["entries"]} <= {
        e.id for e in ENTRIES if e.status == "named model" and e.command
    }
    told = page(Measured()).split("## Measured with a language model")[1].split("\n## ")[0]
    for part in (p for p in local if p["entries"]):
        section = told.split(f"### {part['title']}\n")[1].split("\n### ")[0]
        assert all(f"    {command}\n" in section for command in part["commands"])
        assert all(f"\n#### {id}\n" in section for id in part["entries"])
        for row in part["rows"]:
            mark = " †" if row.get("nli", shipped_weights()) != shipped_weights() else ""
            start = f"| `{row['scorer']}`{mark} |"
            line = next(x for x in section.splitlines() if x.startswith(start))
            assert ("constant" if row["value"] is None else f" {row['value']:.3f} |") in line
    page_of_it = LOCAL.with_suffix(".md").read_text(encoding="utf-8")
    for part in local:
        assert f"## {part['title']}\n" in page_of_it


@cache
def shipped_weights() -> str:
    """The hash of the NLI model in the package, from the file itself."""
    model = ROOT / "src/veridical/models/data/veridical-nli-mini/model.onnx"
    return hashlib.sha256(model.read_bytes()).hexdigest()[:12]


def test_figures_by_replaced_weights_are_marked(
    docs: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from measured import Measured
    from reproduction import LOCAL, page

    local = json.loads(LOCAL.read_text(encoding="utf-8"))
    reading = re.compile(
        r"selfcheck_nli|nli_grounding|claims(\(extractor=.*)?$|noncontradiction|semantic_negentropy"
        r"|bsdetector"
    )
    for row in (r for part in local for r in part["rows"]):
        assert ("nli" in row) == bool(reading.match(row["scorer"])) or row["scorer"] == "risk", row
    shipped = shipped_weights()
    rows = [
        {"suite": "begin", "split": "s", "scorer": name, "metric": "auroc", "value": 0.5, **nli}
        for name, nli in (
            ("claims", {"nli": "0123456789ab"}),
            ("nli_grounding", {"nli": shipped}),
            ("length", {}),
        )
    ]
    part = {"title": "T", "commands": [], "entries": ["none"], "rows": rows}
    path = tmp_path / "local.json"
    for r in rows:
        r["n_total"] = 1
    path.write_text(json.dumps([part]), encoding="utf-8")
    monkeypatch.setattr("reproduction.LOCAL", path)
    made = page(Measured())
    assert "| `claims` † |" in made
    assert "| `nli_grounding` |" in made and "| `length` |" in made
    assert f"replaced (0123456789ab; this version has {shipped})" in made
    rows[0]["nli"] = shipped
    path.write_text(json.dumps([part]), encoding="utf-8")
    assert "†" not in page(Measured()).split("\n### T\n")[1].split("\n## ")[0]


def test_the_page_of_local_models_is_made_of_its_figures(
    docs: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reproduction import LOCAL

    # an example has the same name: under one of its own
    path = LOCAL.parents[2] / "benchmarks" / "local_llm.py"
    spec = importlib.util.spec_from_file_location("local_llm_benchmark", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    page_of_it = module.page
    found = json.loads(LOCAL.read_text(encoding="utf-8"))
    assert LOCAL.with_suffix(".md").read_text(encoding="utf-8") == page_of_it(found)


def test_the_page_says_what_the_samples_were(docs: None) -> None:
    from measured import Measured
    from reproduction import page

    part = page(Measured()).split("### CheckEmbed tables 3, 5 and 6, figure 7, STE400")[1]
    assert "| scorer | samples | 2 | 4 | 6 | 8 | 10 | 12 | 14 | 16 | 18 | 20 |" in part
    pearson = next(line for line in part.splitlines() if "passage pearson" in line)
    assert pearson.endswith("| 0.685 | 0.677 | 0.68 |")
