"""Writes ``scorers.md`` and the JSON schemas: ``python docs/generate.py``.

A test fails when they are out of date.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path

from veridical.core.registry import REGISTRY, Scorer
from veridical.core.scores import Result
from veridical.diff.result import Diff
from veridical.evaluate.result import Bench

HERE = Path(__file__).parent

HEAD = """# Scorers

Generated from the registry by `python docs/generate.py`; `veridical scorers` lists them by what
they need, `veridical scorers NAME` shows one.

A scorer is named in `--scorers` as `name` or `name(parameter=value)`. `risk` is in [0, 1], 1 is
worst; `raw` is the method's own number, and *raw is* says which way it points. `cost`: `free` needs
no model, `embed` sentence vectors, `tokens` token vectors. `--against` sets the `against` of every
scorer that takes it.

"""


def schema() -> str:
    """JSON Schema of a result line."""
    found = Result.model_json_schema(mode="serialization")
    found["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    found["title"] = "veridical result line"
    return json.dumps(found, indent=1) + "\n"


def bench_schema() -> str:
    """JSON Schema of a benchmark's figures."""
    found = Bench.model_json_schema(mode="serialization")
    found["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    found["title"] = "veridical benchmark"
    return json.dumps(found, indent=1) + "\n"


def diff_schema() -> str:
    """JSON Schema of a comparison of two runs."""
    found = Diff.model_json_schema(mode="serialization")
    found["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    found["title"] = "veridical comparison"
    return json.dumps(found, indent=1) + "\n"


def scorers() -> str:
    """The page of scorers."""
    rows = [
        f"| [`{s.name}`](#{s.name}) | {s.level} | {', '.join(sorted(s.needs))} | {s.cost} "
        f"| {', '.join(sorted(s.presets))} |"
        for s in REGISTRY.all()
    ]
    table = ["| scorer | level | needs | cost | presets |", "|---|---|---|---|---|", *rows]
    return HEAD + "\n".join(table) + "\n\n" + "\n".join(section(s) for s in REGISTRY.all())


def section(scorer: Scorer) -> str:
    """One scorer's part of the page."""
    parameters = ", ".join(f"{n}={_shown(p.default)}" for n, p in scorer.parameters.items())
    text = inspect.getdoc(scorer.function) or ""
    return (
        f"## {scorer.name}\n\n`{scorer.name}({parameters})`\n\n"
        f"Source: {scorer.source}. Raw is {scorer.raw_is}"
        f"{f' (`{scorer.raw_key}`)' if scorer.raw_key else ''}.{_tuned(scorer)}\n\n"
        f"```text\n{text}\n```\n"
    )


def _tuned(scorer: Scorer) -> str:
    told = [
        f" Tuned on `{data}` ({', '.join(f'`{n}`' for n in names) if names else 'its design'}): "
        "figures on it are in-domain."
        for data, names in scorer.tuned_on.items()
    ]
    return "".join(told)


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)


PAGES = {
    "scorers.md": scorers,
    "result.schema.json": schema,
    "bench.schema.json": bench_schema,
    "diff.schema.json": diff_schema,
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), encoding="utf-8")
