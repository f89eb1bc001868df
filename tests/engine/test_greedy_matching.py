"""BERTScore's arithmetic against a hand-written loop and against the bert-score package."""

from __future__ import annotations

import tracemalloc
from math import log
from pathlib import Path

import numpy as np
import pytest

from veridical.core.protocols import Encoded
from veridical.engine import greedy_matching
from veridical.engine.greedy_matching import f1, greedy_match, idf_weights

CLS, SEP = 0, 1


def encoded(tokens, ids=None, special=True):
    """A text of the given token vectors (normalised), between two special tokens."""
    tokens = np.asarray(tokens, np.float32)
    tokens = tokens / np.linalg.norm(tokens, axis=1, keepdims=True)
    n = len(tokens)
    ids = np.arange(2, n) if ids is None and special else ids
    content = np.ones(n, bool)
    if special:
        ids = np.array([CLS, *ids, SEP])
        content[[0, -1]] = False
    return Encoded(np.zeros(3, np.float32), tokens, np.asarray(ids, np.int64), content)


def random_texts(rng, lengths, d=24, vocabulary=12):
    return [
        encoded(rng.standard_normal((n + 2, d)) + 0.5, rng.integers(2, vocabulary, n))
        for n in lengths
    ]


def by_loop(candidate, reference, idf):
    """Precision and recall of one pair, token by token."""

    def mean_best(a, b):
        total = weight = 0.0
        for vector, token, is_content in zip(a.tokens, a.token_ids, a.content, strict=True):
            if not is_content:
                continue
            w = 1.0 if idf is None else idf[int(token)]
            total += w * max(float(np.dot(vector.astype(float), o.astype(float))) for o in b.tokens)
            weight += w
        return total / weight

    if not candidate.content.any() or not reference.content.any():
        return 0.0, 0.0
    return mean_best(candidate, reference), mean_best(reference, candidate)


@pytest.mark.parametrize("with_idf", [False, True])
@pytest.mark.parametrize("cells, columns", [(1 << 24, 1 << 13), (64, 16), (1, 1), (300, 40)])
def test_agrees_with_a_loop_whatever_the_block(monkeypatch, with_idf, cells, columns):
    monkeypatch.setattr(greedy_matching, "_CELLS", cells)
    monkeypatch.setattr(greedy_matching, "_COLUMNS", columns)
    rng = np.random.default_rng(3)
    candidates = random_texts(rng, [5, 0, 1, 17, 3, 8])
    references = random_texts(rng, [2, 9, 30, 0, 1])
    idf = idf_weights(references) if with_idf else None
    precision, recall = greedy_match(candidates, references, idf)
    expected = np.array([[by_loop(c, r, idf) for r in references] for c in candidates])
    assert precision.dtype == recall.dtype == np.float64
    np.testing.assert_allclose(precision, expected[..., 0], atol=1e-6)
    np.testing.assert_allclose(recall, expected[..., 1], atol=1e-6)


def test_precision_one_way_is_recall_the_other():
    rng = np.random.default_rng(4)
    texts = random_texts(rng, [4, 7, 1, 12])
    precision, recall = greedy_match(texts, texts)
    np.testing.assert_allclose(precision, recall.T, atol=1e-6)
    np.testing.assert_allclose(np.diag(precision), 1, atol=1e-6)


def test_special_tokens_are_matched_but_weigh_nothing():
    # The candidate's only word equals the reference's [SEP] and nothing else.
    candidate = encoded([[1, 0, 0], [0, 1, 0], [1, 0, 0]])
    reference = encoded([[0, 0, 1], [0, 0, 1], [0, 1, 0]])
    precision, recall = greedy_match([candidate], [reference])
    assert precision[0, 0] == pytest.approx(1.0)  # the word found [SEP]
    assert recall[0, 0] == pytest.approx(0.0)  # the reference's word found nothing


def test_a_model_without_special_tokens():
    candidate = encoded([[1, 0], [0, 1]], [5, 6], special=False)
    reference = encoded([[1, 1]], [5], special=False)
    precision, recall = greedy_match([candidate], [reference])
    assert precision[0, 0] == pytest.approx(np.sqrt(0.5))
    assert recall[0, 0] == pytest.approx(np.sqrt(0.5))


def test_an_empty_text_gives_zero_and_empty_lists_give_empty_arrays():
    rng = np.random.default_rng(5)
    full, empty = random_texts(rng, [3, 0])
    precision, recall = greedy_match([full, empty], [empty, full])
    np.testing.assert_allclose(precision, [[0, 1], [0, 0]], atol=1e-6)
    np.testing.assert_allclose(recall, [[0, 1], [0, 0]], atol=1e-6)
    assert greedy_match([], [full])[0].shape == (0, 1)
    assert greedy_match([full], [])[1].shape == (1, 0)


def test_texts_without_token_vectors_are_refused():
    with pytest.raises(ValueError, match="token vectors"):
        greedy_match([Encoded(np.zeros(3, np.float32))], [])


def test_similarities_are_held_in_blocks(monkeypatch):
    monkeypatch.setattr(greedy_matching, "_CELLS", 1 << 16)
    monkeypatch.setattr(greedy_matching, "_COLUMNS", 1 << 10)
    texts = random_texts(np.random.default_rng(8), [3000, 400, 400], d=4)
    tracemalloc.start()
    greedy_match(texts, texts)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6  # all similarities at once would take 3800 * 3800 * 4 bytes = 58e6


def test_idf_of_three_references():
    rng = np.random.default_rng(6)
    texts = [encoded(rng.standard_normal((len(i) + 2, 4)), i) for i in ([5, 6, 6], [5], [5, 7])]
    weights = idf_weights(texts)
    assert weights[5] == pytest.approx(0)  # in all three: log(4 / 4)
    assert weights[6] == pytest.approx(log(2))  # in one: log(4 / 2)
    assert weights[99] == pytest.approx(log(4))  # in none: log(4 / 1)
    assert 99 not in weights  # asking does not add
    assert idf_weights([])[1] == 0


def test_weights_that_are_all_zero_count_evenly():
    rng = np.random.default_rng(7)
    text = encoded(rng.standard_normal((5, 6)), [5, 6, 7])
    precision, recall = greedy_match([text], [text], idf_weights([text]))
    np.testing.assert_allclose([precision, recall], 1, atol=1e-6)


def test_f1_is_the_harmonic_mean_where_that_has_a_meaning():
    precision = np.array([[0.5, 1.0, 0.0, -0.1, 1.0 + 1e-7]])
    recall = np.array([[1.0, 1.0, 0.0, 0.2, 1.0]])
    np.testing.assert_allclose(f1(precision, recall), [[2 / 3, 1, 0, 0, 1]])
    assert f1(precision, recall).max() <= 1


# ---- against the bert-score package ---------------------------------------------------------


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> Path:
    """A tiny BERT with random weights and a real WordPiece tokenizer, on disk."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("tiny-bert")
    vocabulary = "[PAD] [UNK] [CLS] [SEP] [MASK] the a cat dog sat on mat ran away in rain , . ##s "
    vocabulary += "paris is capital of france"
    (folder / "vocab.txt").write_text(vocabulary.replace(" ", "\n"), encoding="utf-8")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary.split()),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
    )
    transformers.BertModel(config).save_pretrained(folder)
    tokenizer = transformers.BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=64)
    assert tokenizer.tokenize("The cats") == ["the", "cat", "##s"]
    tokenizer.save_pretrained(folder)
    return folder


CANDIDATES = ["the cat sat on the mat.", "a dog ran away in rain", "paris is the capital", "mat"]
REFERENCES = ["a cat sat on a mat", "the dogs ran in the rain, away.", "the capital of france", "a"]


@pytest.mark.torch
@pytest.mark.parametrize("with_idf", [False, True])
def test_agrees_with_the_bert_score_package(checkpoint, with_idf):
    bert_score = pytest.importorskip("bert_score")
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    model = AutoModel.from_pretrained(checkpoint).eval()

    def encode(text):
        ids = tokenizer(text)["input_ids"]
        with torch.no_grad():
            hidden = model(torch.tensor([ids])).last_hidden_state[0].numpy()
        return encoded(hidden, ids[1:-1])

    idf = idf_weights([encode(t) for t in REFERENCES]) if with_idf else None
    precision, recall = greedy_match(
        [encode(t) for t in CANDIDATES], [encode(t) for t in REFERENCES], idf
    )
    scorer = bert_score.BERTScorer(
        model_type=str(checkpoint),
        num_layers=2,
        idf=with_idf,
        idf_sents=REFERENCES,
        device="cpu",
        nthreads=0,
    )
    for i, candidate in enumerate(CANDIDATES):
        for j, reference in enumerate(REFERENCES):
            theirs = [float(x[0]) for x in scorer.score([candidate], [reference])]
            ours = [precision[i, j], recall[i, j], f1(precision, recall)[i, j]]
            np.testing.assert_allclose(ours, theirs, atol=1e-6)
