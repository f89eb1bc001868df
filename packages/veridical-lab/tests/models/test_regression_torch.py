"""Regressors against transformers alone, and the rule for long pairs by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from nli_checkpoints import CORPUS
from nli_checkpoints import PAIRS as GIVEN
from reader_checkpoints import save_reader
from seq2seq_checkpoints import asked

from veridical.core.protocols import Pair, Window
from veridical.errors import ModelError
from veridical.models.nli.pairs import Piece
from veridical_lab.models import load_checkpoint

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.torch

#: One window each. (Of an empty second text transformers makes a row of one text.)
PAIRS = [Pair(*p) for p in GIVEN if len(" ".join(p)) < 60 and p[1]]


@pytest.fixture(scope="module", params=["bert", "roberta"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp(request.param)
    return save_reader(where, request.param, "SequenceClassification", num_labels=1)


def test_numbers_are_the_librarys_own_without_a_function_over_them(folder: Path) -> None:
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    found = asked(load_checkpoint("regressor", str(folder)), PAIRS)
    values = []
    for (reference, candidate), (value,) in zip(PAIRS, found, strict=True):
        texts = [t.encode("utf-8", "replace").decode() for t in (reference, candidate)]
        row = tokenizer(*texts, return_tensors="pt")
        with torch.no_grad():
            assert value == pytest.approx(float(model(**row).logits), abs=1e-4)
        values.append(value)
    assert max(values) > 0 > min(values) or max(values) - min(values) > 0.1  # unbounded, and told


def test_of_windows_the_best_counts_and_of_pieces_the_weighted_mean(folder: Path) -> None:
    model = load_checkpoint("regressor", str(folder))

    def window(part: int, tokens: int) -> Window:
        return Window(9, Piece(np.arange(4), np.arange(tokens), part))

    windows = [window(0, 6), window(0, 6), window(1, 2), window(1, 2)]
    (value,) = model.assemble(windows, [0.5, 1.0, -1.0, -3.0])
    assert value == pytest.approx((1.0 * 6 - 1.0 * 2) / 8)


def test_long_pairs_are_rated_whole(folder: Path) -> None:
    model = load_checkpoint("regressor", str(folder))
    long = Pair(" ".join(CORPUS * 2), " ".join(CORPUS))
    (windows,) = model.windows([long])
    assert len({w.content.part for w in windows}) > 1
    ((value,),) = asked(model, [long])
    assert np.isfinite(value)


def test_classifiers_are_refused(tmp_path: Path) -> None:
    where = save_reader(tmp_path / "c", "bert", "SequenceClassification", num_labels=3)
    with pytest.raises(ModelError, match="3 classes"):
        load_checkpoint("regressor", str(where))
