"""The embedded NLI model: its files, its judgement of plain pairs, and how it treats batches."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from veridical.models import LABELS, NliModel, Pair, load_nli
from veridical.models.nli.int8 import agreement_pairs, require_agreement

FOLDER = Path(load_nli.__code__.co_filename).parent / "data/veridical-nli-mini"
FILES = ("model.onnx", "tokenizer.json", "config.json", "calibration.json", "ranges.npz")

#: Pairs whose class nobody would dispute; none is in a training file.
PLAIN = (
    ("The concert was held in Vienna in 1987.", "The concert took place in Vienna.", 0),
    ("A brown dog is running along the beach.", "A dog is running.", 0),
    ("Marie Curie won two Nobel Prizes.", "Marie Curie won a Nobel Prize.", 0),
    ("All of the students passed the exam.", "No student failed the exam.", 0),
    ("A woman is buying bread at the market.", "The woman is a famous violinist.", 1),
    ("The museum has twelve rooms of paintings.", "The director of the museum is Italian.", 1),
    ("Two men are waiting for the bus.", "The men are brothers.", 1),
    ("The company opened an office in Oslo.", "The company was founded by two sisters.", 1),
    ("The concert was held in Vienna in 1987.", "The concert was held in Paris in 1987.", 2),
    ("The restaurant is open every day.", "The restaurant is closed on Mondays.", 2),
    ("A man is sleeping on the couch.", "The man is wide awake and running.", 2),
    ("The bridge was finished in 1932.", "The bridge was finished in 1951.", 2),
)
FILLER = (
    "The valley lies between two ranges of low hills. Most of its people work in orchards and "
    "small workshops. A railway reached it late in the nineteenth century. The winters are mild, "
    "and fog is common in autumn. Several festivals are held by the river each summer. "
)


@pytest.fixture(scope="module")
def model() -> NliModel:
    return load_nli("veridical-nli-mini", threads=1)


def judge(model: NliModel, *pairs: tuple[str, str]) -> NDArray[np.float32]:
    """(n, 3) probabilities, all windows of all pairs in one batch."""
    return np.stack([found[:3] for found in judged(model, *pairs)])


def judged(model: NliModel, *pairs: tuple[str, str]) -> list[NDArray[np.float32]]:
    """Of each pair the probabilities and the risk of every word of the hypothesis."""
    windows = model.windows([Pair(*pair) for pair in pairs])
    outputs = iter(model.run([w for own in windows for w in own]))
    return [model.assemble(own, [next(outputs) for _ in own]) for own in windows]


def test_files_match_their_checksums() -> None:
    lines = [line.split() for line in (FOLDER / "SHA256SUMS").read_text().splitlines()]
    assert [name for _, name in lines] == list(FILES)
    for digest, name in lines:
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest, name


def test_model_card_and_licence_travel_with_the_weights() -> None:
    assert "Apache License" in (FOLDER / "LICENSE").read_text("utf-8")
    card = (FOLDER / "README.md").read_text("utf-8")
    assert "Apache-2.0" in card
    assert "TODO" not in card
    assert (FOLDER / "model.onnx").stat().st_size < 55e6


def test_configuration_names_the_classes_and_the_longest_input() -> None:
    config = json.loads((FOLDER / "config.json").read_text("utf-8"))
    assert [config["id2label"][str(i)] for i in range(3)] == list(LABELS)
    assert config["label2id"] == {label: i for i, label in enumerate(LABELS)}
    assert config["max_position_embeddings"] == 514
    assert 0.5 <= json.loads((FOLDER / "calibration.json").read_text("utf-8"))["temperature"] <= 3
    tokenizer = json.loads((FOLDER / "tokenizer.json").read_text("utf-8"))
    assert tokenizer["truncation"] is None and tokenizer["padding"] is None


def test_says_what_it_is(model: NliModel) -> None:
    assert model.contradicts
    assert model.languages == {"en"}
    assert len(model.revision) == 16
    assert load_nli(threads=1).revision == model.revision


def test_judges_plain_pairs_rightly(model: NliModel) -> None:
    """Nine of twelve: a double negation and an exception are beyond a model of this size."""
    found = judge(model, *((premise, hypothesis) for premise, hypothesis, _ in PLAIN))
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)
    labels = np.array([label for _, _, label in PLAIN])
    assert (found.argmax(axis=1) == labels).sum() >= 9
    assert LABELS[2] == "contradiction" and found[-1].argmax() == 2  # two years


def test_tells_the_wrong_words(model: NliModel) -> None:
    premise = "Ada Byron was born in London in 1815."
    right, wrong = judged(
        model,
        (premise, "Ada Byron was born in London in 1815."),
        (premise, "Ada Byron was born in Paris in 1815."),
    )
    words = ["Ada", "Byron", "was", "born", "in", "Paris", "in", "1815"]
    assert len(right) == len(wrong) == 3 + len(words)
    assert [w for w, risk in zip(words, wrong[3:], strict=True) if risk > 0.5] == ["Paris"]
    assert max(right[3:]) < 0.5


def test_tells_to_what_a_fact_belongs(model: NliModel) -> None:
    """Pairs in the words of their premise: the one with each fact where it belongs is entailed."""
    premise = "Eva Dahl painted the ceiling in 1961, and Tom Berg restored it in 1984."
    right, wrong, restored, painted = judge(
        model,
        (premise, "Eva Dahl painted the ceiling in 1961."),
        (premise, "Eva Dahl painted the ceiling in 1984."),
        (premise, "Tom Berg restored the ceiling."),
        (premise, "Tom Berg painted the ceiling."),
    )
    assert right[0] > 0.5 > wrong[0] and restored[0] > 0.5 > painted[0]


def test_int8_agrees_and_is_a_model_of_its_own(model: NliModel) -> None:
    quantised = load_nli("veridical-nli-mini?precision=int8", threads=1)
    assert quantised.revision != model.revision
    pairs = agreement_pairs()
    exact, found = judge(model, *pairs), judge(quantised, *pairs)
    require_agreement("mini", exact, found)
    assert 0 < np.abs(exact - found).mean() < 0.01


def test_result_does_not_depend_on_the_batch(model: NliModel) -> None:
    pairs = [(premise, hypothesis) for premise, hypothesis, _ in PLAIN]
    pairs += [(FILLER + pairs[0][0], pairs[0][1]), (FILLER * 24, pairs[1][1]), ("", "")]
    together = judge(model, *pairs)
    alone = np.concatenate([judge(model, pair) for pair in pairs])
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_long_premise_is_windowed_and_the_whole_of_it_counts(model: NliModel) -> None:
    fact = "The bridge at Harrowby was finished in 1932. "
    filler = FILLER * 10  # near 512 tokens, the model hardly finds one fact (its card, limits)
    pairs = [Pair(p, fact) for p in (filler, fact + filler, filler + fact)]
    for windows in model.windows(pairs):
        assert len(windows) > 1
        assert max(w.length for w in windows) <= 512
    without, first, last = judge(model, *pairs)
    assert without[0] < 0.3
    assert first[0] > 0.5
    assert last[0] > 0.5
    assert len(model.windows([Pair(fact, fact)])[0]) == 1


@pytest.mark.torch
def test_pairs_take_as_many_tokens_as_in_transformers(model: NliModel) -> None:
    """The pair encoding of a plain tokenizer over the same vocabulary."""
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(FOLDER / "tokenizer.json"), unk_token="[UNK]"
    )
    for premise, hypothesis, _ in PLAIN:
        (window,) = model.windows([Pair(premise, hypothesis)])[0]
        assert window.length == len(tokenizer(premise, hypothesis)["input_ids"])
