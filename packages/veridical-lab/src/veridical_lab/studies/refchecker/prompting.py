"""Prompts for the three settings (Hu et al. 2024, figure 7).

By the released code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from veridical.prompts import load_prompt
from veridical.review.triplets import SETTINGS
from veridical_lab.bench.datasets.files import text_list


def prompts(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield rows for ``veridical sample``: id, setting, question, prompt, and references as
    contexts.

    Without a context the question is the prompt. Passages are numbered from 0, as published. With a
    given context the instruction depends on the kind of task. Nothing is cut: the server reports a
    prompt that is too long for the model.
    """
    for row in rows:
        contexts = text_list(row["references"], "references")
        yield {
            "id": str(row["id"]),
            "setting": row.get("setting") or SETTINGS["nq"],
            "question": row["question"],
            "prompt": _prompt(row, contexts),
            "contexts": contexts,
        }


def _prompt(row: dict[str, Any], contexts: list[str]) -> str:
    setting, question = row.get("setting"), row["question"]
    if setting == SETTINGS["msmarco"]:
        passages = "\n".join(f"Passage {i}: {text}" for i, text in enumerate(contexts))
        return _filled("refchecker_respond_passages", str(question), passages)
    if setting == SETTINGS["dolly"]:
        name = "instruction" if row.get("kind") == "summarization" else "context"
        return _filled(f"refchecker_respond_{name}", str(question), contexts[0])
    return str(question)


def _filled(template: str, question: str, context: str) -> str:
    prompt = load_prompt(template)
    (message,) = prompt.messages(fenced=False, question=question, context=context)
    return str(message["content"])
