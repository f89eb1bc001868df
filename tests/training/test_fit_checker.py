"""The calibration of a checker, fitted on answers whose log-odds are known."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from training_scripts import training_script

from veridical.core.messages import ChatRequest, Reply
from veridical.core.prompt_text import message_text
from veridical.core.records import TokenLogprob
from veridical.llm.endpoints import find_endpoint
from veridical.llm.fake import FakeLlm
from veridical.weights import checkers
from veridical.weights.checkers import CHECKERS

SMALL = CHECKERS["checker-0.5b"]
#: Log-odds of a wrong answer, by the place that is said.
ODDS = {"Rome": -2.0, "Oslo": 1.0}


@pytest.fixture
def module() -> Iterator[ModuleType]:
    with training_script("fit_checker") as fit_checker:
        yield fit_checker


def reply(request: ChatRequest) -> Reply:
    statement = message_text(request.messages[-1]["content"]).rpartition("Statement:")[2]
    odds = next(value for place, value in ODDS.items() if place in statement)
    shares = {"No": 1 / (1 + math.exp(-odds)), "Yes": 1 / (1 + math.exp(odds))}
    top = [{"token": token, "logprob": math.log(share)} for token, share in shares.items()]
    return Reply("No", "stop", (TokenLogprob.model_validate(top[0] | {"top": top}),))


@pytest.fixture
def card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The description of an adapter of an installed package."""
    place = tmp_path / "site" / SMALL.name
    place.mkdir(parents=True)
    (place / "adapter.gguf").write_bytes(b"GGUF")
    told = {
        "base": {"sha256": SMALL.base.sha256},
        "sha256": hashlib.sha256(b"GGUF").hexdigest(),
        "calibration": [0.0, 1.0],
        "trained": {"step": 7},
    }
    (place / "checker.json").write_text(json.dumps(told))
    monkeypatch.setattr(checkers, "_installed", lambda: [tmp_path / "site"])
    return place / "checker.json"


def data(folder: Path, module: ModuleType, wrong_place: str) -> Path:
    """Ten answers a set: four of five that say ``wrong_place`` are wrong, one of five others."""
    (folder / "grounded").mkdir(parents=True)
    for name in module.SETS:
        rows = []
        for i in range(10):
            place = list(ODDS)[i // 5]
            label = int((place == wrong_place) == (i % 5 > 0))
            rows.append(
                {
                    "response": f"Ada lives in {place}.",
                    "contexts": [f"Ada {name} {i} lives somewhere."],
                    "label": label,
                }
            )
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / "grounded" / f"{name}_dev.jsonl").write_text(text)
    return folder


def asked() -> FakeLlm:
    llm = FakeLlm(reply)
    llm.endpoint = find_endpoint(f"local:{SMALL.name}")
    return llm


def test_a_calibration_worked_out_by_hand(
    module: ModuleType, card: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = data(tmp_path / "data", module, "Oslo")
    llm = asked()
    module.main(["--data", str(folder), "--rows", "10"], llm)
    # wrong: 1 of 5 at log-odds -2, 4 of 5 at 1
    slope = 2 * math.log(4) / 3
    told = json.loads(card.read_text())
    assert told["calibration"] == pytest.approx([2 * slope - math.log(4), slope], abs=2e-4)
    assert told["calibrated_on"] == {f"{name}_dev": 10 for name in module.SETS}
    assert told["trained"] == {"step": 7}  # the rest stays
    assert list(checkers.calibration(SMALL)) == told["calibration"]
    assert len(llm.asked) == 40
    said = capsys.readouterr().out
    assert said.count("10 answers, AUROC 0.800, balanced accuracy 0.800") == 4


def test_a_checker_that_ranks_the_wrong_way_round_is_refused(
    module: ModuleType, card: Path, tmp_path: Path
) -> None:
    before = card.read_bytes()
    folder = data(tmp_path / "data", module, "Rome")
    with pytest.raises(SystemExit, match="does not rank wrong answers higher"):
        module.main(["--data", str(folder), "--rows", "10"], asked())
    assert card.read_bytes() == before
