"""refchecker on answers, by NLI or LLM; runs in its environment.

The NLI checker reads sentences; the LLM is extractor and checker.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refchecker.aggregator import strict_agg
from refchecker.checker import LLMChecker, NLIChecker
from refchecker.extractor import LLMExtractor

from serve import each, rename_spacy_model, serve

RISK = {"Entailment": 0.0, "Neutral": 0.5, "Contradiction": 1.0}


def start(options: dict[str, Any]) -> Callable[[Any], Any]:
    if options["way"] == "nli":
        checker = NLIChecker(model=options["first"], device="cpu")

        def work(rows: Any) -> Any:
            found = checker.check(
                [r["sentences"] for r in rows], [r["context"] for r in rows], is_joint=False
            )
            return [[RISK[strict_agg(labels)], None] for labels in found]

        return work
    rename_spacy_model()
    name = f"openai/{options['model']}"
    extractor = LLMExtractor(model=name, batch_size=1, api_base=options["url"])
    judge = LLMChecker(model=name, batch_size=1, api_base=options["url"])

    def whole(row: dict[str, Any]) -> float:
        (extracted,) = extractor.extract([row["response"]], [row["prompt"]])
        claims = [c.content for c in extracted.claims]
        if not claims:
            raise ValueError("no claim was extracted")
        (labels,) = judge.check([claims], [row["context"]], [row["prompt"]], is_joint=True)
        return RISK[strict_agg(labels)]

    return lambda rows: each(rows, whole)


if __name__ == "__main__":
    serve(start)
