"""Span detectors by name: tiny token classifiers in the published format, against transformers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nli_checkpoints import LENGTH, config, tokenizer

import veridical
from veridical.core.requests import GroundedAnswer
from veridical.errors import ModelError
from veridical.models.token_classification import load_detector, prompt_of
from veridical.text.words import lettered_spans

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.torch

ASKED = GroundedAnswer(
    "Where is Paris?", ("Paris is in France.", "The Seine runs."), "It isn't in 1889, it is said."
)


def save(folder: Path, kind: str, names: tuple[str, ...], length: int = LENGTH) -> Path:
    torch.manual_seed(1)
    made = tokenizer(kind)
    settings = config(kind, made.get_vocab_size(), names, len(names))
    settings.max_position_embeddings = length
    transformers.AutoModelForTokenClassification.from_config(settings).save_pretrained(folder)
    made.save(str(folder / "tokenizer.json"))
    inputs = ["input_ids", "attention_mask", *(["token_type_ids"] if kind == "bert" else [])]
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"model_max_length": length, "model_input_names": inputs})
    )
    return folder


def expected(folder: Path, asked: GroundedAnswer, supported: int) -> list[float]:
    """By transformers' own tokenizer and model: the worst token of each word."""
    made = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    names = json.loads((folder / "tokenizer_config.json").read_text())["model_input_names"]
    inputs = made(
        prompt_of(asked.question, asked.passages),
        asked.answer,
        return_tensors="pt",
        return_offsets_mapping=True,
        return_token_type_ids=True,
    )
    parts = inputs.sequence_ids(0)
    offsets = inputs["offset_mapping"][0].tolist()
    model = transformers.AutoModelForTokenClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        classes = torch.softmax(model(**{n: inputs[n] for n in names}).logits[0], -1)
    risks = (1 - classes[:, supported]).tolist()
    return [
        max(
            risk
            for risk, part, (a, b) in zip(risks, parts, offsets, strict=True)
            if part == 1 and a < word.end and b > word.start
        )
        for word in lettered_spans(asked.answer)
    ]


def answer(model: Any, asked: GroundedAnswer) -> Any:
    (windows,) = model.windows([asked])
    return model.assemble(windows, model.run(windows)), windows


@pytest.mark.parametrize(
    ("kind", "names", "supported"),
    [
        ("modernbert", ("LABEL_0", "LABEL_1"), 0),  # as LettuceDetect names them
        ("bert", ("hallucinated", "supported"), 1),
        ("bert", ("B-WRONG", "I-WRONG", "O"), 2),
    ],
)
def test_against_transformers(
    kind: str, names: tuple[str, ...], supported: int, tmp_path: Path
) -> None:
    folder = save(tmp_path / kind, kind, names, 512)
    model = load_detector(str(folder))
    for asked in (ASKED, GroundedAnswer("", ASKED.passages, ASKED.answer)):
        found, windows = answer(model, asked)
        assert len(windows) == 1
        np.testing.assert_allclose(found, expected(folder, asked, supported), atol=1e-5)


def test_the_prompt() -> None:
    asked = prompt_of("Who?", ["Ada.", "Bob."])
    assert asked.startswith("\nBriefly answer the following question:\nWho?\n")
    assert "the following 2 passages:\npassage 1: Ada.\npassage 2: Bob.\n" in asked
    assert asked.endswith("output:\n")
    assert prompt_of("", ["Ada."]) == "\nSummarize the following text:\npassage 1: Ada.\noutput:\n"


def test_what_is_too_long_is_read_in_windows(tmp_path: Path) -> None:
    folder = save(tmp_path / "model", "bert", ("LABEL_0", "LABEL_1"))
    model = load_detector(f"torch:{folder}")
    long = GroundedAnswer(
        "Where?", tuple("Paris is in France." for _ in range(60)), "In Paris. " * 40
    )
    found, windows = answer(model, long)
    assert len(windows) > 4 and all(w.length <= LENGTH for w in windows)
    assert len(found) == 80 and (found > 0).all() and (found < 1).all()


def test_names_and_kinds_that_do_not_fit(tmp_path: Path) -> None:
    one = save(tmp_path / "one", "bert", ("LABEL_0",))
    with pytest.raises(ModelError, match="one class"):
        load_detector(str(one))
    other = tmp_path / "other"
    settings = config("bert", 120, ("a", "b"), 2)
    transformers.AutoModelForMaskedLM.from_config(settings).save_pretrained(other)
    tokenizer("bert").save(str(other / "tokenizer.json"))
    with pytest.raises(ModelError, match="no trained weights for classifier"):
        load_detector(str(other))


def test_check_with_a_detector(tmp_path: Path) -> None:
    folder = save(tmp_path / "model", "modernbert", ("LABEL_0", "LABEL_1"), 512)
    rows = [{"prompt": ASKED.question, "contexts": list(ASKED.passages), "response": ASKED.answer}]
    (result,) = veridical.check(rows, "spans", spans=str(folder), store=None)
    score = result.scores[f"spans(detector={folder})"]
    assert score.risk == pytest.approx(max(expected(folder, ASKED, 0)), abs=1e-5)
    assert "detector:model@" in score.signature and "nli:" not in score.signature
    (default,) = veridical.check(rows, spans=str(folder), store=None)  # added to the preset
    assert default.scores[f"spans(detector={folder})"].risk == score.risk
