"""The NLI model shipped for users' tests, and the names under which NLI models are asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fake_models import FakeNli
from nli_checkpoints import judge

from veridical.core.protocols import Pair
from veridical.errors import ModelError, UsageError
from veridical.models import NLI_FORMS, list_models, load_nli
from veridical.models.nli import packaged

TABLE = {("a b", "c"): (0.2, 0.3, 0.5)}


def test_scripted_answers_hold_across_windows() -> None:
    long = " ".join(f"w{i}" for i in range(90))
    model = FakeNli({**TABLE, (long, long[::-1]): (0.6, 0.3, 0.1)}, max_length=16)
    found = judge(model, [("a b", "c"), (long, long[::-1])])
    np.testing.assert_allclose(found, [(0.2, 0.3, 0.5), (0.6, 0.3, 0.1)], atol=1e-6)
    assert len(model.windows([Pair(long, long[::-1])])[0]) > 20


def test_other_pairs_are_judged_by_their_words() -> None:
    pairs = [
        ("the cat is black", "The cat is black"),
        ("the cat is black", "dogs bark"),
        ("the cat is black", "the cat barks"),
        ("the cat is black", "the cat is not black"),
        ("", ""),
    ]
    found = judge(FakeNli(), pairs)
    expected = [
        (0.98, 0.01, 0.01),
        (0.01, 0.98, 0.01),
        (0.01 + 0.97 * 2 / 3, 0.98 - 0.97 * 2 / 3, 0.01),
        (0.01, 0.01, 0.98),
        (0.98, 0.01, 0.01),
    ]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    rest = judge(FakeNli(contradicts=False), pairs)
    np.testing.assert_allclose(rest[:, 0], found[:, 0], atol=1e-6)
    np.testing.assert_allclose(rest[:, 1], 1 - found[:, 0], atol=1e-6)
    assert (rest[:, 2] == 0).all()


def test_finds_the_one_sentence_of_a_long_premise() -> None:
    rest = [f"Sentence {i} is about thing {i}." for i in range(60)]
    model = FakeNli(max_length=40)
    premise = " ".join([*rest[:30], "The tower is red.", *rest[30:]])
    rows = judge(model, [(premise, "The tower is red."), (premise, "The tower is not red.")])
    assert rows[0, 0] > 0.9 and rows[1, 2] > 0.5
    ends = [w.content.part for w in model.windows([Pair(premise, "red")])[0]]
    assert len(ends) > 5


def test_counts_its_work_and_fails_where_told_to() -> None:
    model = FakeNli(fail_on=lambda pair: "poison" in pair.premise)
    windows = [w for ws in model.windows([Pair("a b", "c"), Pair("", "d")]) for w in ws]
    model.run(windows)
    model.run(windows[:1])
    assert (model.calls, model.tokens_run, model.batches) == (2, 16, [2, 1])
    (bad,) = model.windows([Pair("poison", "x")])
    with pytest.raises(ModelError, match="told to fail"):
        model.run([*windows, *bad])
    with pytest.raises(ValueError, match="at least 5"):
        FakeNli(max_length=4)


def test_revision_follows_the_script() -> None:
    assert FakeNli(TABLE).revision == FakeNli(dict(TABLE)).revision
    others = [FakeNli(), FakeNli(TABLE, max_length=9), FakeNli(TABLE, contradicts=False)]
    assert len({m.revision for m in [FakeNli(TABLE), *others]}) == 4


def test_specifications() -> None:
    for wrong in ("nonsense", "a/b/c", "onnx:", "http://host/v1#m", "tei:ftp://host"):
        with pytest.raises(UsageError, match="names no model") as error:
            load_nli(wrong)
        assert all(form in str(error.value) for form in NLI_FORMS)
    for wrong, message in (
        ("onnx:x?layer=2", "no option 'layer'"),
        ("torch:x?precision=int8", "no option 'precision'"),
        ("veridical-nli-mini?revision=x", "no option 'revision'"),
        ("onnx:does-not-exist", "no such model folder"),
        ("./does-not-exist", "no such model folder"),
    ):
        with pytest.raises(UsageError, match=message):
            load_nli(wrong)


def test_without_the_embedded_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packaged, "_EMBEDDED", tmp_path / "none")
    with pytest.raises(ModelError, match="veridical-nli-mini is not in this installation"):
        load_nli("mini")
    assert [row.kind for row in list_models()] == ["encoder", "image"]
