"""Extractors by name, and the two coarsest ones."""

from __future__ import annotations

import subprocess
import sys

import pytest

from veridical import Record
from veridical.claims.extractors import EXTRACTORS, costs_of, find_extractor
from veridical.core.evidence import LocalEvidence
from veridical.errors import NotApplicable, UsageError


async def extracted(name: str, response: str):
    record = Record(response=response)
    return await find_extractor(name)(record, LocalEvidence(record))


def test_names_and_costs():
    assert {n for n in EXTRACTORS if costs_of(n)} == {n for n in EXTRACTORS if n[:4] == "llm_"}
    assert all(costs_of(n) <= {"llm"} for n in EXTRACTORS)
    for ask in (find_extractor, costs_of):
        with pytest.raises(UsageError, match=r"did you mean 'clauses'.*Available: .*triplets"):
            ask("clause")


def test_offline_extractors_load_no_parser():
    code = (
        "import sys; from veridical.claims.extractors import find_extractor as f\n"
        "[f(n) for n in ('response', 'sentences', 'clauses', 'triplets')]\n"
        "sys.exit(any(m in sys.modules for m in ('spacy', 'torch', 'onnxruntime')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_the_whole_response():
    (claim,) = (await extracted("response", "\n One. Two.\n")).claims
    assert (claim.text, claim.start, claim.end, claim.sentence) == ("One. Two.", 2, 11, 0)
    assert (await extracted("response", "***")).claims == ()
    assert (await extracted("response", "I don't know.")).abstained


async def test_sentences():
    found = await extracted("sentences", "One.\n\n*** \n\nTwo is more.")
    assert [(c.text, c.start, c.end) for c in found.claims] == [
        ("One.", 0, 4),
        ("Two is more.", 12, 24),
    ]
    with pytest.raises(NotApplicable):
        await extracted("sentences", "")
