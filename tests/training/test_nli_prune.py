"""The small model from the larger one, on a tiny MPNet: cut, it still knows, and it goes on."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from training_scripts import training_script

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.torch


@pytest.fixture
def module() -> Iterator[ModuleType]:
    with training_script("nli_prune") as nli_prune, pytest.MonkeyPatch.context() as patch:
        import nli_heads  # type: ignore[import-not-found]
        import nli_stages  # type: ignore[import-not-found]

        patch.setattr(nli_heads, "FEWEST_HEADS", 1)
        patch.setattr(nli_heads, "NEURONS", 4)
        names = (nli_stages.GENERATED, nli_stages.EDITED, nli_stages.BOUND, nli_stages.TYPED)
        stage = replace(
            nli_stages.STAGES["base"],
            mixture={"people": 1.0, **dict.fromkeys(names, 1.0)},
            peak_rate=5e-3,
            joined=0.0,
            batch_tokens=256,
        )
        patch.setitem(nli_stages.STAGES, "base", stage)
        patch.setattr(nli_prune, "STAGE", stage)
        patch.setattr(nli_prune, "PEAK_RATE", 3e-3)
        patch.setattr(nli_prune, "ROUNDS", (nli_prune.Round(0.6, 2000, 0.5), nli_prune.ROUNDS[1]))
        yield nli_prune


def run(script: Any, name: str, *arguments: str | Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [name, *map(str, arguments)])
        script.main()


def test_it_is_smaller_and_knows_as_much(
    module: ModuleType,
    source: Path,
    data: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    import nli_train  # type: ignore[import-not-found]

    generated, base = data / "generated.jsonl", tmp_path / "base"
    made = ("--edited", generated, "--bound", generated)
    run(
        nli_train,
        "nli_train",
        source,
        data,
        generated,
        base,
        "--stage",
        "base",
        *made,
        "--epochs",
        "3",
    )
    whole = nli_train.Reader(base)
    given = (base, data, generated, tmp_path / "small", *made, "--tokens", "14000")
    with pytest.MonkeyPatch.context() as patch:
        real, count = module.losses, iter(range(10_000))

        def interrupted(*arguments: Any) -> Any:
            if next(count) == 20:  # in the second round
                raise KeyboardInterrupt
            return real(*arguments)

        patch.setattr(module, "SAVE_EVERY", -1.0)
        patch.setattr(module, "losses", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(module, "nli_prune", *given)
    assert (tmp_path / "small/round1").is_dir()
    capsys.readouterr()
    run(module, "nli_prune", *given)
    assert "resuming from batch" in capsys.readouterr().out
    run(module, "nli_prune", *given[:3], tmp_path / "at_once", *given[4:])
    small, at_once = (nli_train.Reader(tmp_path / n) for n in ("small", "at_once"))
    states = small.state_dict(), at_once.state_dict()
    assert all(torch.allclose(states[0][k], states[1][k], atol=1e-6) for k in states[0])

    share = module.weights_of(small.classifier) / module.weights_of(whole.classifier)
    assert 0.3 < share <= 0.4
    for folder in (base, tmp_path / "small"):
        report = json.loads((folder / "calibration.json").read_text())
        assert report["held_out"]["typed_entity"]["accuracy"] == 1.0
        assert report["words"]["auroc"] > 0.99
