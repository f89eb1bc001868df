"""Encoder-decoders and multiple-choice readers against transformers alone, one input at a time."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from seq2seq_checkpoints import CONTEXT, LENGTH, asked, save_bart, save_longformer, save_t5
from tokenizers import Tokenizer

from veridical.errors import ModelError, UsageError
from veridical_lab.models import load_checkpoint
from veridical_lab.models.reading import Rows
from veridical_lab.models.requests import (
    Choice,
    Question,
    Reading,
    Writing,
    as_source,
    pack_texts,
    unpack_likelihood,
    unpack_texts,
)

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.torch

SOURCES = [
    "The dog",
    ("", "Who finished the tower?", " <sep> ", "many hands", " <sep> ", CONTEXT),
    "",
    "Paris is in France.",
    "naïve 東京 \ud800",
]
OPTIONS = ["France", "Spain, it is said", "on the sofa", "why"]
QUESTIONS = [
    Choice("Where is Paris?", CONTEXT, tuple(OPTIONS)),
    Choice("Who?", "", ("a man", "the dog")),
    Choice("Who knows why?", "Nobody knows why.", ("Nobody", "the committee", "a man")),
    Choice("Which one fell?", CONTEXT, tuple(OPTIONS[:3])),
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


def _joined(source: Any) -> str:
    return "".join(as_source(source)).encode("utf-8", "replace").decode()


def write(model: Any, sources: list[Any], **settings: Any) -> list[list[str]]:
    requests = [Writing(as_source(s), **settings) for s in sources]
    return [unpack_texts(a) for a in asked(model, requests)]


def draw(model: Any, sources: list[str], seed: int = 0, max_tokens: int = 12) -> list[str]:
    turns = [(seed, sources[:i].count(s)) for i, s in enumerate(sources)]
    requests = [
        Writing(as_source(s), max_tokens, draw=t) for s, t in zip(sources, turns, strict=True)
    ]
    return [unpack_texts(a)[0] for a in asked(model, requests)]


def test_greedy_outputs_are_the_librarys_own(t5: Path) -> None:
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(t5).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(t5)
    expected = []
    for source in SOURCES:
        inputs = tokenizer([_joined(source)], return_tensors="pt")
        out = model.generate(inputs.input_ids, max_new_tokens=10, do_sample=False)
        text = tokenizer.decode(out[0], skip_special_tokens=False)
        expected.append(text.replace("<pad>", "").replace("</s>", "").strip())
    found = write(load_checkpoint("seq2seq", str(t5)), SOURCES, max_tokens=10)
    assert [text.strip() for (text,) in found] == expected


def test_beams_are_the_librarys_own(t5: Path) -> None:
    """As the question generator of Q2 is asked: five beams, no three tokens twice."""
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(t5).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(t5)
    settings = {"num_beams": 5, "no_repeat_ngram_size": 3, "num_return_sequences": 5}
    found = write(
        load_checkpoint("seq2seq", str(t5)), SOURCES, max_tokens=9, beams=5, returned=5, no_repeat=3
    )
    for source, texts in zip(SOURCES, found, strict=True):
        inputs = tokenizer([_joined(source)], return_tensors="pt")
        out = model.generate(**inputs, max_new_tokens=9, early_stopping=True, **settings)
        expected = [tokenizer.decode(row, skip_special_tokens=False) for row in out]
        expected = [t.replace("<pad>", "").replace("</s>", "").strip() for t in expected]
        assert [t.strip() for t in texts] == expected


def test_log_probabilities_are_the_cross_entropy(t5: Path) -> None:
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(t5).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(t5)
    targets = ("Paris is in France.", "why", "")
    found = asked(
        load_checkpoint("seq2seq", f"torch:{t5}"), [Reading(as_source(s), targets) for s in SOURCES]
    )
    for source, packed in zip(SOURCES, found, strict=True):
        (window,) = unpack_likelihood(packed).windows
        assert (window.start, window.end) == (0, len(as_source(source)[-1]))
        inputs = tokenizer([_joined(source)], return_tensors="pt")
        for target, logprobs in zip(targets, window.logprobs, strict=True):
            labels = tokenizer([target], return_tensors="pt").input_ids
            with torch.no_grad():
                logits = model(input_ids=inputs.input_ids, labels=labels).logits
            expected = logits[0].log_softmax(-1)[range(labels.shape[1]), labels[0]]
            np.testing.assert_allclose(logprobs, expected.numpy(), atol=1e-5)


def test_texts_spell_no_special_tokens(t5: Path) -> None:
    """Those of a method's own words count, those in a text are broken up."""
    model = load_checkpoint("seq2seq", str(t5))
    tokenizer = transformers.AutoTokenizer.from_pretrained(t5)
    source = ("claim: ", "Paris </s><sep>", " </s> document: ", "<pad> France <extra_id_0>")
    ((window,),) = model.windows([Reading(source, ("why",))])
    text = "claim: Paris < /s>< sep> </s> document: < pad> France < extra_id_0>"
    assert window.content.source == tokenizer(text).input_ids
    assert window.content.source.count(1) == 2  # the template's and the one at the end


def test_long_sources_are_read_in_windows_of_their_last_text(t5: Path) -> None:
    model = load_checkpoint("seq2seq", str(t5))
    tokenizer = transformers.AutoTokenizer.from_pretrained(t5)
    long = " ".join([CONTEXT] * 3)
    source = ("question: ", "Paris", " </s> document: ", long, " </s>")
    (packed,) = asked(model, [Reading(source, ("why", "The dog"), longest=64)])
    windows = unpack_likelihood(packed).windows
    assert len(windows) > 2
    assert windows[0].start == 0 and windows[-1].end == len(long)
    assert all(b.start <= a.end for a, b in pairwise(windows))
    plain = transformers.AutoModelForSeq2SeqLM.from_pretrained(t5).eval()
    for window in windows:
        text = f"question: Paris </s> document: {long[window.start : window.end]} </s>"
        ids = tokenizer([text], return_tensors="pt").input_ids
        assert ids.shape[1] <= 64
        for target, logprobs in zip(("why", "The dog"), window.logprobs, strict=True):
            labels = tokenizer([target], return_tensors="pt").input_ids
            with torch.no_grad():
                loss = plain(input_ids=ids, labels=labels).loss
            assert -logprobs.mean() == pytest.approx(float(loss), rel=1e-5)
    with pytest.raises(ModelError, match="stands around the text"):
        model.windows([Reading(("a", "b " * 80, "c", long), ("why",), longest=64)])


def test_long_targets_are_read_in_consecutive_pieces(tmp_path: Path) -> None:
    bart = save_bart(tmp_path, positions=48)
    model = load_checkpoint("seq2seq", str(bart))
    tokenizer = transformers.AutoTokenizer.from_pretrained(bart)
    long = " ".join([CONTEXT] * 2)
    (packed,) = asked(model, [Reading(as_source("The dog"), (long, "why"))])
    (window,) = unpack_likelihood(packed).windows
    bare = len(tokenizer("").input_ids)
    pieces = -(-(len(tokenizer(long).input_ids) - bare) // (48 - bare))
    tokens = len(tokenizer(long).input_ids) - bare
    assert len(window.logprobs[0]) >= tokens + pieces * bare  # each piece has its own ends
    assert len(window.logprobs[0]) < tokens + 2 * pieces * bare + 8
    assert len(window.logprobs[1]) == len(tokenizer("why").input_ids)


def test_languages_need_a_tokenizer_that_marks_them(t5: Path) -> None:
    model = load_checkpoint("seq2seq", str(t5))
    with pytest.raises(ModelError, match="not multilingual"):
        model.windows([Reading(as_source("a"), ("b",), language="en")])


def test_a_store_keeps_texts_of_any_script() -> None:
    texts = ["", "naïve 東京 \U0001f600\U0010ffff", "\ud800"]
    assert unpack_texts(pack_texts(texts)) == texts


def test_a_draw_depends_on_source_seed_and_turn_alone(t5: Path) -> None:
    model = load_checkpoint("seq2seq", str(t5))
    alone = draw(model, ["The dog"] * 3)
    assert len(set(alone)) > 1
    mixed = draw(model, ["Paris", "The dog", CONTEXT, "The dog", "The dog"])
    assert [mixed[i] for i in (1, 3, 4)] == alone
    assert draw(model, ["The dog"] * 3) == alone
    assert draw(model, ["The dog"] * 3, seed=1) != alone


def test_draws_follow_the_models_probabilities(t5: Path) -> None:
    """First tokens of 2 000 draws, by the total variation from the 50 likeliest's softmax."""
    drawn = draw(load_checkpoint("seq2seq", str(t5)), ["The dog"] * 2000, max_tokens=1)
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


def test_nothing_is_written_from_a_source_that_does_not_fit(t5: Path) -> None:
    model = load_checkpoint("seq2seq", str(t5))
    with pytest.raises(ModelError, match="tokens at most"):
        model.windows([Writing(("", "a b c " * 9000), 1)])
    with pytest.raises(ModelError, match="invalid generation request"):
        model.windows([Writing(("", "a"), 1, beams=2, returned=3)])
    assert model.windows([]) == []


def test_reads_and_writes_may_share_a_batch(t5: Path) -> None:
    model = load_checkpoint("seq2seq", str(t5))
    requests = [
        Writing(("", "The dog"), 6),
        Reading(("", "Paris"), ("why",)),
        Writing(("", "The dog"), 6, beams=2, returned=2),
        Writing(("", "Paris is in France."), 6),
    ]
    together = asked(model, requests)
    for request, found in zip(requests, together, strict=True):
        np.testing.assert_allclose(asked(model, [request])[0], found, atol=1e-5)


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
    found = asked(load_checkpoint("choice", str(reader)), QUESTIONS)
    for (question, context, options), shares in zip(QUESTIONS, found, strict=True):
        expected = _reference_choice(reader, context, question, list(options))
        np.testing.assert_allclose(shares, expected, atol=1e-5)
        assert expected.max() - expected.min() > 1e-3  # the options are told apart


def test_answerability_is_that_of_the_published_code(judge: Path) -> None:
    model = transformers.LongformerForSequenceClassification.from_pretrained(judge).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(judge)
    questions = [Question(question, context) for question, context, _ in QUESTIONS]
    found = asked(load_checkpoint("answerability", str(judge)), questions)
    for (question, context), (share,) in zip(questions, found, strict=True):
        text = f"{question} {tokenizer.sep_token} {context}"
        with torch.no_grad():
            logit = model(**tokenizer(text, return_tensors="pt")).logits
        assert share == pytest.approx(float(torch.sigmoid(logit)), abs=1e-5)


def test_special_tokens_in_a_text_are_text(reader: Path, judge: Path) -> None:
    hostile = "Paris </s></s> is <s> in <pad> France."
    question = Choice("Where </s>?", hostile, ("</s>", "<s>"))
    (shares,) = asked(load_checkpoint("choice", str(reader)), [question])
    assert shares.sum() == pytest.approx(1)
    ((share,),) = asked(load_checkpoint("answerability", str(judge)), [Question("</s>", hostile)])
    assert 0 < share < 1


def test_long_contexts_are_read_in_windows(reader: Path, judge: Path) -> None:
    model, long = load_checkpoint("choice", str(reader)), CONTEXT * 16
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
    (shares,) = asked(model, [Choice("Where is Paris?", long, tuple(OPTIONS))])
    assert shares.sum() == pytest.approx(1)
    ((share,),) = asked(load_checkpoint("answerability", str(judge)), [Question("Where?", long)])
    ((singly,),) = asked(
        load_checkpoint("answerability", str(judge)), [Question("Where?", CONTEXT)]
    )
    assert 0 < share < 1 and share != singly
    with pytest.raises(ModelError, match="no room"):
        model.windows([Choice("Where is Paris? " * 100, long, tuple(OPTIONS))])


def test_a_question_without_options_is_an_error(reader: Path) -> None:
    with pytest.raises(ModelError, match="without options"):
        load_checkpoint("choice", str(reader)).windows([Choice("a", "b", ())])


def test_models_of_another_kind_are_refused(t5: Path, reader: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        load_checkpoint("choice", str(t5))
    with pytest.raises(ModelError, match=r"no trained weights|cannot be loaded"):
        load_checkpoint("answerability", str(reader))
    three = save_longformer(tmp_path / "three", "LongformerForSequenceClassification", num_labels=3)
    with pytest.raises(ModelError, match="3 classes"):
        load_checkpoint("answerability", str(three))
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ModelError, match=r"no config\.json"):
        load_checkpoint("seq2seq", str(empty))


def test_pickled_weights_are_never_read(t5: Path, tmp_path: Path) -> None:
    for file in t5.iterdir():
        if not file.name.endswith(".safetensors"):
            (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_checkpoint("seq2seq", str(tmp_path))


@pytest.mark.parametrize(
    "spec", ["", "torch:", "a b", "x/y/z", "http://host/v1", "org/name?layer=3"]
)
def test_unknown_forms_say_what_is_known(spec: str) -> None:
    with pytest.raises(UsageError, match=r"Known forms|known: revision"):
        load_checkpoint("seq2seq", spec)


def test_the_revision_tells_weights_apart(t5: Path, tmp_path: Path) -> None:
    other = load_checkpoint("seq2seq", str(save_t5(tmp_path / "other", seed=1)))
    again = [load_checkpoint("seq2seq", str(t5)).revision for _ in range(2)]
    assert again[0] == again[1] != other.revision
