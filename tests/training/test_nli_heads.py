"""Fewer heads and neurons: the same numbers as of a whole model in which the others say nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from training_scripts import checkpoint, training_script

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.torch

HEADS = [[1], [0, 1], [0]]
NEURONS = [[3, 9, 40], [0, 1, 2, 100, 127], [7]]


@pytest.fixture
def module() -> Iterator[ModuleType]:
    with training_script("nli_heads") as found:
        yield found


def silenced(model: Any, heads: list[list[int]], neurons: list[list[int]]) -> None:
    """Let only these heads and neurons of a whole model say anything."""
    with torch.no_grad():
        for layer, some, few in zip(model.mpnet.encoder.layer, heads, neurons, strict=True):
            for head in {0, 1} - set(some):
                layer.attention.attn.o.weight[:, 32 * head : 32 * (head + 1)] = 0
            others = [i for i in range(128) if i not in few]
            layer.output.dense.weight[:, others] = 0


def said(reader: Any) -> Any:
    ids = torch.tensor([[0, 5, 6, 7, 2, 2, 8, 9, 2], [0, 9, 8, 2, 2, 5, 2, 1, 1]])
    with torch.inference_mode():
        return reader.eval()(input_ids=ids, attention_mask=(ids != 1).long())


def parts(module: ModuleType, heads: list[list[int]], neurons: list[list[int]]) -> Any:
    return module.Parts([torch.tensor(h) for h in heads], [torch.tensor(n) for n in neurons])


def test_a_cut_model_says_what_the_whole_one_says_with_the_others_silenced(
    module: ModuleType, tmp_path: Path
) -> None:
    import nli_reader  # type: ignore[import-not-found]

    whole = checkpoint(tmp_path, "mpnet", words=True)
    narrow = nli_reader.Reader(tmp_path / "checkpoint")
    module.cut(narrow.classifier, parts(module, HEADS, NEURONS))
    silenced(whole.classifier, HEADS, NEURONS)
    for found, expected in zip(said(narrow), said(whole), strict=True):
        assert torch.allclose(found, expected, atol=1e-5)
    # 64 dimensions: 4 matrices of 32 a head, 2 of a neuron
    assert module.weights_of(narrow.classifier) == 4 * 4 * 32 * 64 + 9 * 2 * 64
    # again, by places among those that are left; and as a checkpoint
    module.cut(narrow.classifier, parts(module, [[0], [1], [0]], [[1], [3, 4], [0]]))
    silenced(whole.classifier, [[1], [1], [0]], [[9], [100, 127], [7]])
    assert narrow.classifier.config.kept_heads == [[1], [1], [0]]
    narrow.save(tmp_path / "narrow", words=True)
    for model in (narrow, nli_reader.Reader(tmp_path / "narrow")):
        for found, expected in zip(said(model), said(whole), strict=True):
            assert torch.allclose(found, expected, atol=1e-5)


def test_what_matters_least_goes(
    module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Importance is the squared gradient by a factor: here beside a difference quotient."""
    monkeypatch.setattr(module, "NEURONS", 1)
    monkeypatch.setattr(module, "FEWEST_HEADS", 1)
    reader = checkpoint(tmp_path, "mpnet", words=True)
    silenced(reader.classifier, HEADS, NEURONS)
    ids = torch.tensor([[0, 5, 6, 7, 2, 2, 8, 9, 2], [0, 9, 8, 4, 2, 2, 5, 6, 2]])
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    frozen = [name for name, p in reader.named_parameters() if not p.requires_grad]
    with module.Importance(reader.classifier) as importance:
        for batch in (given, {name: x[:1] for name, x in given.items()}):
            reader(**batch)[0][:, 0].sum().backward()
            importance.add()
        kept = importance.most(share=1.0)
        found = importance._sums["heads", 1][0].item()
        least = importance.most(share=0.4)
    assert [name for name, p in reader.named_parameters() if not p.requires_grad] == frozen
    assert [len(h) for h in kept.heads] == [2, 2, 2] and [len(n) for n in kept.neurons] == [128] * 3
    assert [h.tolist() for h in least.heads] == HEADS
    for neurons, all_that_say_something in zip(least.neurons, NEURONS, strict=True):
        assert set(all_that_say_something) <= set(neurons.tolist())

    weights = reader.classifier.mpnet.encoder.layer[1].attention.attn.o.weight
    double, step = reader.double(), 1e-5
    with torch.no_grad():
        own = weights[:, :32].clone().double()
        outputs = []
        for factor in (1 + step, 1 - step):
            weights[:, :32] = own * factor
            outputs.append(double(**given)[0][:, 0])
    slopes = (outputs[0] - outputs[1]) / (2 * step)
    assert found == pytest.approx((slopes**2).sum().item() + slopes[0].item() ** 2, rel=1e-3)
