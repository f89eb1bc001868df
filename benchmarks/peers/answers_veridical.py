"""This package on answers with a source: see ``side_by_side.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import veridical
from serve import serve


def start(options: dict[str, Any]) -> Callable[[Any], Any]:
    # Without a store: nothing is remembered from an earlier run.
    engine = veridical.Engine(store=None, **options["models"])
    veridical.check([{"response": "It is.", "contexts": ["It is."]}], engine=engine)  # loads

    def work(rows: Any) -> Any:
        asked = [
            {"prompt": r["prompt"], "response": r["response"], "contexts": [r["context"]]}
            for r in rows
        ]
        results = veridical.check(asked, options["scorers"], engine=engine)
        return [[r.risk, r.reason if r.risk is None else None] for r in results]

    return work


if __name__ == "__main__":
    serve(start)
