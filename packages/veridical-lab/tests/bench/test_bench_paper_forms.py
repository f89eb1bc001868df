"""``bench --paper-forms``: the published form is what is measured, and the settings say so."""

from __future__ import annotations

import json
from pathlib import Path

from veridical_lab.bench import bench

ROWS = [
    {"prompt": f"q{i}", "response": text, "samples": ["It rained."], "label": i % 2}
    for i, text in enumerate(["It rained.", "It snowed.", "It rained here.", "Hail fell."])
]


def test_bench_measures_the_published_form(tmp_path: Path) -> None:
    path = tmp_path / "graded.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)))
    found = bench("graded", path, "ngram", paper_forms=True, bootstrap=0, store="none")
    assert "ngram(counting=paper)" in {row.scorer for row in found.rows}
    assert found.settings["paper_forms"] is True
    plain = bench("graded", path, "ngram", bootstrap=0, store="none")
    assert "paper_forms" not in plain.settings and plain.run != found.run
