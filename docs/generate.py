"""Generated pages and JSON schemas, written by ``python docs/generate.py``.

A test fails if they are out of date.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import cli_pages
import gallery
import papers
import scorer_pages

from veridical.core.scores import RESULT_VERSION, Result
from veridical.diff.result import Diff
from veridical_lab.bench.benchmark import Bench

HERE = Path(__file__).parent


def schema() -> str:
    """Return the JSON Schema of a result line."""
    found = Result.model_json_schema(mode="serialization")
    found["$id"] = f"urn:veridical:result:{RESULT_VERSION}"
    found["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    found["title"] = "veridical result line"
    return json.dumps(found, indent=1) + "\n"


def bench_schema() -> str:
    """Return the JSON Schema of a benchmark's figures."""
    found = Bench.model_json_schema(mode="serialization")
    found["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    found["title"] = "veridical benchmark"
    return json.dumps(found, indent=1) + "\n"


def diff_schema() -> str:
    """Return the JSON Schema of a comparison of two runs."""
    found = Diff.model_json_schema(mode="serialization")
    found["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    found["title"] = "veridical comparison"
    return json.dumps(found, indent=1) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    **scorer_pages.PAGES,
    **cli_pages.PAGES,
    "evidence/gallery.md": gallery.page,
    "coverage.md": papers.page,
    "result.schema.json": schema,
    "bench.schema.json": bench_schema,
    "diff.schema.json": diff_schema,
    **{f"images/gallery/{n}.svg": partial(gallery.picture, n) for n in gallery.kept()["scorers"]},
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (HERE / name).parent.mkdir(parents=True, exist_ok=True)
        (HERE / name).write_text(page(), encoding="utf-8")
