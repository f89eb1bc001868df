"""A checkpoint made again from its package says what the package says."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from nli_checkpoints import tokenizer
from training_scripts import checkpoint, training_script

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("onnx")
pytestmark = pytest.mark.torch


@pytest.fixture
def module() -> Iterator[ModuleType]:
    with training_script("nli_restore") as found:
        yield found


@pytest.mark.parametrize(("kind", "narrow"), [("mpnet", False), ("mpnet", True), ("bert", False)])
@pytest.mark.parametrize("words", [True, False])
def test_the_restored_checkpoint_is_the_packaged_one(
    kind: str,
    narrow: bool,
    words: bool,
    module: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import nli_export  # type: ignore[import-not-found]
    import nli_reader  # type: ignore[import-not-found]

    monkeypatch.setattr("onnx_weights.MIN_ELEMENTS", 1000)  # most matrices are rounded
    checkpoint(tmp_path, kind, words, narrow)
    packaged = tmp_path / "packaged"
    arguments = ["nli_export", str(tmp_path / "checkpoint"), str(packaged)]
    monkeypatch.setattr(sys, "argv", arguments)
    nli_export.main()
    monkeypatch.setattr(sys, "argv", ["nli_restore", str(packaged), str(tmp_path / "restored")])
    module.main()
    restored = nli_reader.Reader(tmp_path / "restored").eval()
    assert (tmp_path / "restored" / nli_reader.WORDS).is_file() == words
    rows = [
        {"premise": p, "hypothesis": h, "label": "neutral"}
        for p, h in [("Paris is in France.", "no"), ("Nobody knows why.", "The Seine in Paris.")]
    ]
    made = tokenizer("roberta" if kind == "mpnet" else "bert")
    pairs = nli_reader.tokenized(rows, made, "any", nli_export.STAGES["base"])
    graph = (packaged / "model.onnx").read_bytes()
    found = nli_export.agreement(graph, restored, pairs, temperature=1.0)
    assert found.pairs == 2 and found.max_shift < 1e-5 and found.words_shift < 1e-5


def test_a_cut_model_is_restored_as_one_that_any_program_reads(
    module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import nli_export
    from transformers import AutoModelForSequenceClassification

    monkeypatch.setattr("onnx_weights.MIN_ELEMENTS", 10**9)  # nothing is rounded
    cut = checkpoint(tmp_path, "mpnet", words=True, narrow=True)
    packaged = tmp_path / "packaged"
    arguments = ["nli_export", str(tmp_path / "checkpoint"), str(packaged)]
    monkeypatch.setattr(sys, "argv", arguments)
    nli_export.main()
    arguments = ["nli_restore", str(packaged), str(tmp_path / "whole"), "--whole"]
    monkeypatch.setattr(sys, "argv", arguments)
    module.main()
    whole = AutoModelForSequenceClassification.from_pretrained(tmp_path / "whole").eval()
    ids = torch.tensor([[0, 5, 6, 7, 2, 2, 8, 9, 2], [0, 9, 8, 2, 2, 5, 2, 1, 1]])
    given = {"input_ids": ids, "attention_mask": (ids != 1).long()}
    with torch.inference_mode():
        assert torch.allclose(whole(**given).logits, cut(**given)[0], atol=1e-5)
    assert whole.config.to_dict().get("kept_heads") is None


def test_what_cannot_be_restored_is_refused(module: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="exists"):
        module.restore(tmp_path, tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "t5"}))
    with pytest.raises(SystemExit, match="of type t5 cannot be restored"):
        module.restore(tmp_path, tmp_path / "new")
    assert not (tmp_path / "new").exists()
