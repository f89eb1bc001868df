"""The page and the document of the studies."""

from __future__ import annotations

from pathlib import Path

from study_scripts import made_up

from veridical_lab.studies.checkembed.document import markdown
from veridical_lab.studies.checkembed.figures import figures_of, heat_maps
from veridical_lab.studies.checkembed.html import write_studies_report


def test_every_study_has_its_drawings() -> None:
    result = made_up()
    titles = {s: [f.title for f in figures_of(result, s)] for s in result.studies}
    assert titles["pairs"] == ["Similar and different passages, generic"]
    assert titles["errors"] == [
        "Similarity to passages without errors, scientific",
        "checkembed by forced errors, scientific",
        "selfcheck_nli(order=code) by forced errors, scientific",
    ]
    assert titles["runtime"] == [
        "Seconds, 10 words a sample",
        "Seconds, 20 words a sample",
        "Seconds, 4 samples",
    ]
    maps = heat_maps(result, "terms")
    assert [f.title for f in maps] == ["CheckEmbed: chunk <0>", "COMET-style: chunk <0>"]
    assert maps[0].rows[-1] == ["ground truth", "-0.200", "0.100", "1.000"]


def test_foreign_names_are_text(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_studies_report(made_up(), path)
    page = path.read_text(encoding="utf-8")
    for name in ("<b>", "<model>", "chunk <0>"):
        assert name not in page
    assert "chunk &lt;0&gt;" in page and "texts by <bdi>local:&lt;model&gt;</bdi> (local)" in page
    assert "chunk &lt;0&gt;" in markdown(made_up())


def test_the_document_has_every_figure() -> None:
    text = markdown(made_up())
    assert "| checkembed | scientific | -0.8" in text  # Spearman by errors
    assert "| checkembed | minilm | 20 | 40.000 | 80.000 |" in text
    assert "| checkembed | terms | 0 | 1 | 0.400 | 0.000 | 0.700 | -0.050 |" in text
