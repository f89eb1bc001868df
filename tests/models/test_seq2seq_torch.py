"""Encoder-decoders and readers against transformers alone, one input at a time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from seq2seq_checkpoints import CONTEXT, LENGTH, save_longformer, save_t5
from tokenizers import Tokenizer

from veridical.errors import ModelError, UsageError
from veridical.models.seq2seq import (
    load_answerability,
    load_multiple_choice,
    load_seq2seq,
    shared,
)
from veridical.models.seq2seq.common import batches
from veridical.models.seq2seq.reading import Rows

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

SOURCES = [
    "The dog",
    "Who finished the tower? <sep> many hands <sep> " + CONTEXT,
    "",
    "Paris is in France.",
    "naïve 東京 \ud800",
]
OPTIONS = ["France", "Spain, it is said", "on the sofa", "why"]
QUESTIONS = [
    (CONTEXT, "Where is Paris?", OPTIONS),
    ("", "Who?", ["a man", "the dog"]),
    ("Nobody knows why.", "Who knows why?", ["Nobody", "the committee", "a man"]),
    (CONTEXT, "Which one fell?", OPTIONS[:3]),
]


@pytest.fixture(scope="module")
def t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_t5(tmp_path_factory.mktemp("t5"))


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_longformer(tmp_path_factory.mktemp("reader"), "LongformerForMultipleChoice")


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("judge")
    return save_longformer(folder, "LongformerForSequenceClassification", num_labels=1)


def _plain(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def test_greedy_outputs_are_the_librarys_own(t5: Path) -> None:
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(t5).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(t5)
    expected = []
    for source in SOURCES:
        inputs = tokenizer([_plain(source)], return_tensors="pt")
        out = model.generate(inputs.input_ids, max_new_tokens=10, do_sample=False)
        text = tokenizer.decode(out[0], skip_special_tokens=False)
        expected.append(text.replace("<pad>", "").replace("</s>", "").strip())
    found = load_seq2seq(str(t5)).generate(SOURCES, max_tokens=10)
    assert [text.strip() for text in found] == expected


def test_loglikelihood_is_the_cross_entropy(t5: Path) -> None:
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(t5).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(t5)
    pairs = [(s, t) for s in SOURCES for t in ("Paris is in France.", "why", "")]
    found = load_seq2seq(f"torch:{t5}").loglikelihood(pairs)
    for (source, target), (ids, logprobs) in zip(pairs, found, strict=True):
        inputs = tokenizer([_plain(source)], return_tensors="pt")
        labels = tokenizer([target], return_tensors="pt").input_ids
        with torch.no_grad():
            loss = model(input_ids=inputs.input_ids, labels=labels).loss
        assert ids.tolist() == labels[0].tolist()
        assert -logprobs.mean() == pytest.approx(float(loss), rel=1e-5)


def test_a_draw_depends_on_source_seed_and_turn_alone(t5: Path) -> None:
    model = load_seq2seq(str(t5))

    def draw(sources: list[str], seed: int = 0) -> list[str]:
        return model.generate(sources, max_tokens=12, sample=True, seed=seed)

    alone = draw(["The dog"] * 3)
    assert len(set(alone)) > 1
    mixed = draw(["Paris", "The dog", CONTEXT, "The dog", "The dog"])
    assert [mixed[i] for i in (1, 3, 4)] == alone
    assert draw(["The dog"] * 3) == alone
    assert draw(["The dog"] * 3, seed=1) != alone


def test_draws_follow_the_models_probabilities(t5: Path) -> None:
    """First tokens of 2 000 draws, by the total variation from the 50 likeliest's softmax."""
    model = load_seq2seq(str(t5))
    drawn = model.generate(["The dog"] * 2000, max_tokens=1, sample=True)
    plain = transformers.AutoModelForSeq2SeqLM.from_pretrained(t5).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(t5)
    ids = tokenizer(["The dog"], return_tensors="pt").input_ids
    with torch.no_grad():
        logits = plain(input_ids=ids, decoder_input_ids=torch.tensor([[0]])).logits[0, 0]
    top, tokens = logits.topk(50)
    expected: dict[str, float] = {}
    for share, token in zip(top.softmax(-1).tolist(), tokens.tolist(), strict=True):
        special = token in (0, 1)  # padding and the end, which are no text
        text = "" if special else tokenizer.decode([token])
        expected[text] = expected.get(text, 0) + share
    shares = {t: drawn.count(t) / len(drawn) for t in set(drawn)}
    assert set(shares) <= set(expected)
    apart = sum(abs(shares.get(t, 0) - p) for t, p in expected.items()) / 2
    assert apart < 0.1


def test_sources_too_long_are_refused_not_cut(t5: Path) -> None:
    model = load_seq2seq(str(t5))
    with pytest.raises(ModelError, match="tokens at most"):
        model.generate(["a b c " * 9000], max_tokens=1)
    assert model.generate([], max_tokens=1) == []


def _reference_choice(folder: Path, context: str, question: str, options: list[str]) -> np.ndarray:
    """As the published code feeds the answering system: one question, padding to the longest."""
    model = transformers.LongformerForMultipleChoice.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    first = f"{context} {tokenizer.bos_token} {question}"
    rows = tokenizer([first] * len(options), options, padding="longest", return_tensors="pt")
    with torch.no_grad():
        logits = model(
            input_ids=rows.input_ids[None], attention_mask=rows.attention_mask[None]
        ).logits
    return logits.double().softmax(-1)[0].numpy()


def test_choices_are_those_of_the_published_code(reader: Path) -> None:
    found = load_multiple_choice(str(reader)).choose(QUESTIONS)
    for (context, question, options), shares in zip(QUESTIONS, found, strict=True):
        expected = _reference_choice(reader, context, question, list(options))
        np.testing.assert_allclose(shares, expected, atol=1e-5)
        assert expected.max() - expected.min() > 1e-3  # the options are told apart


def test_answerability_is_that_of_the_published_code(judge: Path) -> None:
    model = transformers.LongformerForSequenceClassification.from_pretrained(judge).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(judge)
    asked = [(context, question) for context, question, _ in QUESTIONS]
    found = load_answerability(str(judge)).answerable(asked)
    for (context, question), share in zip(asked, found, strict=True):
        text = f"{question} {tokenizer.sep_token} {context}"
        with torch.no_grad():
            logit = model(**tokenizer(text, return_tensors="pt")).logits
        assert share == pytest.approx(float(torch.sigmoid(logit)), abs=1e-5)


def test_special_tokens_in_a_text_are_text(reader: Path, judge: Path) -> None:
    hostile = "Paris </s></s> is <s> in <pad> France."
    shares = load_multiple_choice(str(reader)).choose([(hostile, "Where </s>?", ["</s>", "<s>"])])
    assert shares[0].sum() == pytest.approx(1)
    (share,) = load_answerability(str(judge)).answerable([(hostile, "</s>")])
    assert 0 < share < 1


def test_long_contexts_are_read_in_windows(reader: Path, judge: Path) -> None:
    model, long = load_multiple_choice(str(reader)), CONTEXT * 16
    tokenizer = Tokenizer.from_file(str(reader / "tokenizer.json"))
    windows = Rows(tokenizer, LENGTH).question(long, "Where?")
    assert len(windows) > 3 and max(map(len, windows)) <= LENGTH
    start = [0, *tokenizer.encode("Where? ", add_special_tokens=False).ids, 2]
    whole = tokenizer.encode(f" {long}", add_special_tokens=False).ids
    at = 0
    for window in windows:
        assert window[: len(start)] == start and window[-1] == 2
        body = window[len(start) : -1]
        place = next(i for i in range(at, -1, -1) if whole[i : i + len(body)] == body)
        at = place + len(body)  # each begins at or before the end of the one before it
    assert at == len(whole)
    (shares,) = model.choose([(long, "Where is Paris?", OPTIONS)])
    assert shares.sum() == pytest.approx(1)
    (share,) = load_answerability(str(judge)).answerable([(long, "Where?")])
    singly = load_answerability(str(judge)).answerable([(CONTEXT, "Where?")])
    assert 0 < share < 1 and share != singly[0]
    with pytest.raises(ModelError, match="no room"):
        model.choose([(long, "Where is Paris? " * 100, OPTIONS)])


def test_a_question_without_options_is_an_error(reader: Path) -> None:
    with pytest.raises(ModelError, match="without options"):
        load_multiple_choice(str(reader)).choose([("a", "b", [])])


def test_models_of_another_kind_are_refused(t5: Path, reader: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        load_multiple_choice(str(t5))
    with pytest.raises(ModelError, match=r"no trained weights|cannot be loaded"):
        load_answerability(str(reader))
    three = save_longformer(tmp_path / "three", "LongformerForSequenceClassification", num_labels=3)
    with pytest.raises(ModelError, match="3 classes"):
        load_answerability(str(three))
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ModelError, match=r"no config\.json"):
        load_seq2seq(str(empty))


def test_pickled_weights_are_never_read(t5: Path, tmp_path: Path) -> None:
    for file in t5.iterdir():
        if not file.name.endswith(".safetensors"):
            (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_seq2seq(str(tmp_path))


@pytest.mark.parametrize(
    "spec", ["", "torch:", "a b", "x/y/z", "http://host/v1", "org/name?layer=3"]
)
def test_unknown_forms_say_what_is_known(spec: str) -> None:
    with pytest.raises(UsageError, match=r"Known forms|known: revision"):
        load_seq2seq(spec)


def test_the_revision_tells_weights_apart(t5: Path, tmp_path: Path) -> None:
    other = load_seq2seq(str(save_t5(tmp_path / "other", seed=1)))
    assert other.revision != load_seq2seq(str(t5)).revision
    assert load_seq2seq(str(t5)).revision == load_seq2seq(str(t5)).revision


def test_a_shared_model_is_loaded_once() -> None:
    calls: list[str] = []
    gate = threading.Event()

    def load(spec: str) -> object:
        calls.append(spec)
        gate.wait(5)
        return object()

    with ThreadPoolExecutor(8) as pool:
        found = [pool.submit(shared, load, "once") for _ in range(8)]
        gate.set()
        assert len({id(f.result()) for f in found}) == 1
    assert calls == ["once"]


def test_a_failure_is_not_repeated_for_every_record(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("veridical.models.seq2seq.time.monotonic", lambda: clock[0])
    calls = []

    def fails(spec: str) -> object:
        calls.append(spec)
        raise ModelError("not there")

    for _ in range(3):
        with pytest.raises(ModelError, match="not there"):
            shared(fails, "gone")
    assert len(calls) == 1
    clock[0] += 61
    with pytest.raises(ModelError):
        shared(fails, "gone")
    assert len(calls) == 2


def test_batches_hold_like_with_like_within_the_budget() -> None:
    sizes = [5, 100, 7, 40, 41, 6]
    found = batches(sizes, 82)
    assert sorted(i for batch in found for i in batch) == list(range(6))
    assert found[0] == [1]  # larger than the budget: alone
    assert all(max(sizes[i] for i in b) * len(b) <= 82 for b in found[1:])
