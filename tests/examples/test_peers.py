"""Adapters of peers in ``examples/peers``: loaded as scorers, and run where the package is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from places import ROOT

import veridical
from veridical.cli.own_scorers import loaded

PEERS = ROOT / "examples" / "peers"
ROW = {"prompt": "How tall?", "response": "It is 70 m tall.", "contexts": ["It is 57 m tall."]}


@pytest.mark.parametrize("file", sorted(PEERS.glob("*.py")), ids=lambda file: file.stem)
def test_an_adapter_has_twenty_lines(file: Path) -> None:
    code = file.read_text("utf-8").split('"""', 2)[2]
    lines = [line for line in code.splitlines() if line.strip() and "import" not in line]
    assert len(lines) <= 26


@pytest.fixture()
def weights(tmp_path: Path) -> str:
    """A random token classifier of two labels."""
    pytest.importorskip("lettucedetect")
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from nli_checkpoints import tokenizer

    made = tokenizer("bert")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=made.get_vocab_size(),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        num_labels=2,
    )
    transformers.BertForTokenClassification(config).save_pretrained(tmp_path)
    fast: Any = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made,
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        unk_token="[UNK]",
    )
    fast.save_pretrained(tmp_path)
    return str(tmp_path)


@pytest.mark.torch
def test_lettucedetect_by_its_own_package(weights: str) -> None:
    name = loaded(f"{PEERS / 'lettucedetect_package.py'}:lettucedetect(folder='{weights}')")
    (result,) = veridical.check([ROW], name, store=None)
    (found,) = result.scores.values()
    assert found.status == "scored", found.reason
    assert found.risk == max((u.risk for u in found.units), default=0.0)
    assert all(u.text == ROW["response"][u.start : u.end] for u in found.units)


def test_minicheck_by_its_own_loader() -> None:
    pytest.importorskip("minicheck.minicheck", reason="the fact checker, from its repository")
    name = loaded(f"{PEERS / 'minicheck_loader.py'}:minicheck_loader")
    (result,) = veridical.check([ROW], name, store=None)
    (found,) = result.scores.values()
    assert found.status == "scored" and found.units
