from __future__ import annotations

import pkgutil

import pytest

from veridical.core.evidence import score_locally
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.errors import UsageError
from veridical.text import spacy_text

INSTALLED = any(m.name.startswith("en_core_web_sm") for m in pkgutil.iter_modules())
TEXT = "Dr. Wu can't pay.\n\nHe left the U.S. on Monday. 😀 Why?"

needs_model = pytest.mark.skipif(not INSTALLED, reason="SPACY MODEL ABSENT: no en_core_web_sm*")


@pytest.mark.skipif(INSTALLED, reason="an en_core_web_sm model is installed")
def test_absent_model_names_the_install_command():
    with pytest.raises(UsageError, match="pip install"):
        spacy_text.spacy_words("a")
    record = Record(response="a", samples=["a"])
    (got,) = score_locally(record, REGISTRY.parse("ngram(tokenizer=spacy)"))
    assert got.status == "failed" and "pip install" in got.reason


@needs_model
@pytest.mark.spacy
def test_tokens_sentences_and_offsets():
    words = spacy_text.spacy_words(TEXT)
    assert words[:6] == ("Dr.", "Wu", "ca", "n't", "pay", ".")
    sentences = spacy_text.spacy_sentences(TEXT)
    assert all(TEXT[s.start : s.end] == s.text for s in sentences)
    assert [s.text.strip() for s in sentences][:2] == [
        "Dr. Wu can't pay.",
        "He left the U.S. on Monday.",
    ]


@needs_model
@pytest.mark.spacy
def test_bigrams_use_its_sentences():
    record = Record(response="The cat sat. It ran.", samples=["A cat sat. It ran away."])
    spec = "ngram(n=2, tokenizer=spacy), ngram(n=2), ngram_presence(tokenizer=spacy)"
    exact, builtin, presence = score_locally(record, REGISTRY.parse(spec))
    assert exact.raw == pytest.approx(builtin.raw)
    assert presence.status == "scored"
    assert exact.units[1].evidence == builtin.units[1].evidence
