"""``SelfCheckNLI.predict`` of selfcheckgpt on a local checkpoint; runs in its environment.

Request: a list of ``{"sentences": [...], "samples": [...]}``, one a passage. Answer: a list with
the scores of each passage's sentences.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from selfcheckgpt import modeling_selfcheck
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from serve import serve


def start(options: dict[str, Any]) -> Callable[[Any], Any]:
    # The package loads by the classes of its own checkpoint, DeBERTa-v3; ``predict`` itself
    # works with any two-class head.
    modeling_selfcheck.DebertaV2Tokenizer = AutoTokenizer
    modeling_selfcheck.DebertaV2ForSequenceClassification = AutoModelForSequenceClassification
    checker = modeling_selfcheck.SelfCheckNLI(nli_model=options["model"], device="cpu")

    def work(passages: Any) -> Any:
        return [checker.predict(p["sentences"], p["samples"]).tolist() for p in passages]

    return work


if __name__ == "__main__":
    serve(start)
