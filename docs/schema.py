"""Writes ``docs/result.schema.json`` from the code: ``python docs/schema.py``."""

from __future__ import annotations

import json
from pathlib import Path

from veridical.scores import Result


def schema() -> str:
    found = Result.model_json_schema(mode="serialization")
    found["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    found["title"] = "veridical result line"
    return json.dumps(found, indent=1) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("result.schema.json").write_text(schema(), encoding="utf-8")
