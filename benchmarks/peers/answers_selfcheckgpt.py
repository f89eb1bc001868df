"""selfcheckgpt on answers, the source as sample; runs in its environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from selfcheckgpt import modeling_selfcheck
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from serve import each, rename_spacy_model, serve


def start(options: dict[str, Any]) -> Callable[[Any], Any]:
    if options["way"] == "ngram":
        rename_spacy_model()
        counts = modeling_selfcheck.SelfCheckNgram(n=1)

        def unlikely(row: dict[str, Any]) -> float:
            found = counts.predict(row["sentences"], row["response"], [row["context"]])
            return found["doc_level"]["avg_neg_logprob"]

        return lambda rows: each(rows, unlikely)
    # The package loads by the classes of its own checkpoint, DeBERTa-v3; ``predict`` itself
    # works with any two-class head.
    modeling_selfcheck.DebertaV2Tokenizer = AutoTokenizer
    modeling_selfcheck.DebertaV2ForSequenceClassification = AutoModelForSequenceClassification
    checker = modeling_selfcheck.SelfCheckNLI(nli_model=options["two"], device="cpu")

    def contradicted(row: dict[str, Any]) -> float:
        return float(np.mean(checker.predict(row["sentences"], [row["context"]])))

    return lambda rows: each(rows, contradicted)


if __name__ == "__main__":
    serve(start)
