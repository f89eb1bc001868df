"""Pickled encoder-decoders and readers, converted, say what the originals say."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from reader_checkpoints import save_reader
from seq2seq_checkpoints import asked, save_bart, save_t5

from veridical.core.protocols import Pair
from veridical.errors import ModelError
from veridical.models.convert import convert
from veridical_lab.models import load_checkpoint
from veridical_lab.models.requests import Question, Reading, Writing

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.torch

KINDS = {
    "t5": ("seq2seq", [Reading(("", "The dog"), ("why",)), Writing(("", "The dog"), 6)]),
    "bart": ("seq2seq", [Reading(("", "The dog"), ("why",))]),
    "albert": ("reader", [Question("Where?", "Paris is in France.")]),
    "bert": ("regressor", [Pair("Paris is in France.", "Paris.")]),
}


def _save(name: str, folder: Path) -> Path:
    if name in ("t5", "bart"):
        return save_t5(folder) if name == "t5" else save_bart(folder)
    task = "QuestionAnswering" if name == "albert" else "SequenceClassification"
    return save_reader(folder, name, task, **({} if name == "albert" else {"num_labels": 1}))


@pytest.mark.parametrize("name", KINDS)
def test_converted_checkpoints_say_the_same(name: str, tmp_path: Path) -> None:
    """Embeddings are shared in the pickled file, as published ones have them."""
    kind, requests = KINDS[name]
    folder = _save(name, tmp_path / "made")
    expected = asked(load_checkpoint(kind, str(folder)), requests)
    automatic = {
        "seq2seq": transformers.AutoModelForSeq2SeqLM,
        "reader": transformers.AutoModelForQuestionAnswering,
        "regressor": transformers.AutoModelForSequenceClassification,
    }[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        state = automatic.from_pretrained(folder).state_dict()
    torch.save(state, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_checkpoint(kind, str(folder))
    made = convert(str(folder), out=tmp_path / "converted")
    for a, b in zip(expected, asked(load_checkpoint(kind, str(made)), requests), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
