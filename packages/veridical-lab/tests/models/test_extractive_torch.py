"""Span readers against transformers alone, and the arithmetic of spans by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from nli_checkpoints import CORPUS
from reader_checkpoints import LENGTH, save_reader
from seq2seq_checkpoints import asked, save_t5

from veridical.core.protocols import Window
from veridical.errors import ModelError
from veridical_lab.models import load_checkpoint
from veridical_lab.models.requests import Question, unpack_answer

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.torch

QUESTIONS = [
    Question("Who knows why?", CORPUS[2]),
    Question("What fell?", CORPUS[3]),
    Question("Where is Paris?", CORPUS[2]),
    Question("By how many hands was it finished?", CORPUS[0]),
    Question("", CORPUS[1]),
    Question("Where?", "naïve café 東京 \ud800 x"),
]


@pytest.fixture(scope="module", params=["bert", "albert", "roberta"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_reader(tmp_path_factory.mktemp(request.param), request.param, "QuestionAnswering")


def _plain(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _every_span(folder: Path, question: str, context: str) -> tuple[float, str, float]:
    """The best span's score and text, over all pairs of places, and the score of none."""
    model = transformers.AutoModelForQuestionAnswering.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    row = tokenizer(
        _plain(question), _plain(context), return_tensors="pt", return_offsets_mapping=True
    )
    offsets = row.pop("offset_mapping")[0].tolist()
    owners = row.sequence_ids(0)
    with torch.no_grad():
        out = model(**row)
    start, end = out.start_logits[0].tolist(), out.end_logits[0].tolist()
    inside = [i for i, owner in enumerate(owners) if owner == 1]
    spans = [(start[i] + end[j], i, j) for i in inside for j in inside if i <= j]
    score, i, j = max(spans)
    return score, _plain(context)[offsets[i][0] : offsets[j][1]].strip(), start[0] + end[0]


def test_answers_are_the_best_of_all_spans(folder: Path) -> None:
    model = load_checkpoint("reader", str(folder))
    for question, packed in zip(QUESTIONS, asked(model, QUESTIONS), strict=True):
        score, text, none = _every_span(folder, *question)
        assert packed[2] == pytest.approx(score - none, abs=1e-4)
        answer = unpack_answer(packed, question.context)
        if score <= none or not text:
            assert answer is None
        else:
            assert answer is not None and _plain(answer.text) == text
            assert question.context[answer.start : answer.end] == answer.text


def test_there_are_answers_and_none(tmp_path: Path) -> None:
    """The random models above say either: here both."""
    said = set()
    for seed in range(6):
        where = save_reader(tmp_path / str(seed), "bert", "QuestionAnswering", seed=seed)
        model = load_checkpoint("reader", str(where))
        found = asked(model, QUESTIONS)
        said |= {unpack_answer(p, q.context) is None for p, q in zip(found, QUESTIONS, strict=True)}
    assert said == {True, False}


def test_a_span_never_ends_before_it_begins() -> None:
    """Logits by hand: the greatest start is behind the greatest end."""
    from veridical_lab.models.extractive import _best, _Content

    content = _Content([0] * 7, [0] * 7, slice(2, 6), [(0, 2), (3, 5), (6, 8), (9, 11)])
    starts = np.array([1.0, 9, 0, 2, 5, 0, 9])
    ends = np.array([1.0, 9, 6, 3, 0, 1, 9])
    found = _best(content, starts, ends)
    # candidates: 0-0: 0+6, 1-1: 2+3, 2-3: 5+1, 0-anything: 6; of 6 and 6 the first start
    assert (found.start, found.end, found.score, found.none) == (0, 2, 6.0, 2.0)
    starts[4] = 5.5
    found = _best(content, starts, ends)  # 5.5 + 1, from the third token to the fourth
    assert (found.start, found.end, found.score) == (6, 11, 6.5)


def test_an_answer_as_likely_as_none_is_none() -> None:
    assert unpack_answer(np.array([0, 3, 0.0], np.float32), "abc") is None
    assert unpack_answer(np.array([0, 3, -1.0], np.float32), "abc") is None
    assert unpack_answer(np.array([0, 2, 1.0], np.float32), "  abc") is None
    answer = unpack_answer(np.array([1, 5, 1.5], np.float32), "a bc d")
    assert answer is not None and (answer.start, answer.end, answer.text) == (2, 4, "bc")


def test_long_contexts_are_read_in_windows_that_cover_them(folder: Path) -> None:
    model = load_checkpoint("reader", str(folder))
    context = " ".join(CORPUS * 3)
    question = Question("Where is Paris?", context)
    (windows,) = model.windows([question])
    assert len(windows) > 2 and max(w.length for w in windows) <= LENGTH
    covered = [offset for w in windows for offset in w.content.offsets]
    assert set(covered) >= set(model._encode([context])[0].offsets)
    outputs = model.run(windows)
    packed = model.assemble(windows, outputs)
    best = max(outputs, key=lambda found: found.score - found.none)
    assert packed.tolist() == pytest.approx([best.start, best.end, best.score - best.none])
    with pytest.raises(ModelError, match="no room"):
        model.windows([Question("Where is Paris? " * 60, context)])


def test_special_tokens_in_a_text_are_text(folder: Path) -> None:
    model = load_checkpoint("reader", str(folder))
    hostile = "Paris </s></s> [SEP] is <s> in [CLS] France."
    ((window,),) = model.windows([Question("Where [SEP] </s>?", hostile)])
    plain = asked(model, [Question("Where?", "Paris")])
    assert plain[0].shape == (3,)
    special = {model._template.ids[0][0], model._template.ids[1][0]}
    body = window.content.ids[window.content.context]
    assert not special & set(body)


def test_batches_change_nothing(folder: Path) -> None:
    model = load_checkpoint("reader", str(folder))
    for question, packed in zip(QUESTIONS, asked(model, QUESTIONS), strict=True):
        np.testing.assert_allclose(asked(model, [question])[0], packed, atol=1e-4)


def test_other_models_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        load_checkpoint("reader", str(save_t5(tmp_path / "t5")))
    where = save_reader(tmp_path / "c", "bert", "SequenceClassification", num_labels=1)
    with pytest.raises(ModelError, match="no trained weights"):
        load_checkpoint("reader", str(where))


def test_a_dry_run_can_pretend(folder: Path) -> None:
    model = load_checkpoint("reader", str(folder))
    for windows in model.windows(QUESTIONS):
        assert all(isinstance(w, Window) for w in windows)
        assert model.assemble(windows, [model.pretend(w) for w in windows]).shape == (3,)
