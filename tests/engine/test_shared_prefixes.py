"""What texts begin with is read once, whatever the order in which they are asked for."""

from __future__ import annotations

from pathlib import Path

import gguf_files
import pytest
from causal_checkpoints import tokenizer

import veridical
from veridical.models.causal.gguf import GgufLanguageModel

ARTICLES = [
    "Paris is in France; the Seine runs through it. Nobody knows why.",
    "Where is Timbuktu? It is in Mali, it is said, and nobody knows why.",
]
ANSWERS = ["Timbuktu is in Mali, it is said.", "The Seine is in Mali.", "Paris knows why."]
ROWS = [{"response": a, "contexts": [c]} for a in ANSWERS for c in ARTICLES]
SCORER = "explained_surprisal(against=contexts)"


def test_contexts_are_read_once_for_all_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = gguf_files.save(tmp_path / "m.gguf")
    made = tokenizer("gpt2")
    contexts = [len(made.encode(f"{c}\n\n").ids) for c in ARTICLES]
    answers = [len(made.encode(a).ids) for a in ANSWERS]
    read: list[int] = []
    whole = GgufLanguageModel._forward

    def counted(self: GgufLanguageModel, ids, asked):  # type: ignore[no-untyped-def]
        for start, after, states in whole(self, ids, asked):
            read.append(len(after))
            yield start, after, states

    monkeypatch.setattr(GgufLanguageModel, "_forward", counted)
    monkeypatch.setattr(GgufLanguageModel, "batch_tokens", 96)  # not all in one batch
    with veridical.Engine(store=None, proxy=str(path), threads=1) as engine:
        results = veridical.check(ROWS, SCORER, engine=engine)
        (service,) = (s for s in engine._services.values() if s.backend.name == "m")
        work = service.work
    assert all(r.scores for r in results) and work.requests == 9  # each answer alone just once
    # each answer is read after both contexts and alone; the last token of a beginning again
    most = sum(contexts) + 3 * sum(answers) + 2 * work.requests
    assert sum(contexts) + 3 * sum(answers) <= sum(read) <= most
    assert work.padded == sum(read) < work.tokens
    apart = 3 * sum(contexts) + 3 * sum(answers)
    assert work.tokens >= apart > 1.5 * work.padded


def test_a_plan_counts_them_once(tmp_path: Path) -> None:
    path = gguf_files.save(tmp_path / "m.gguf")
    with veridical.Engine(store=None, proxy=str(path), threads=1) as engine:
        (told,) = veridical.plan(ROWS, SCORER, engine=engine)["models"]
    assert told["requests"] == 9 and told["padded"] < 0.7 * told["tokens"]
    assert told["seconds"] is not None
