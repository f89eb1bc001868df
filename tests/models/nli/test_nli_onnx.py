"""ONNX models that really answer: weights solved by hand for a few pairs, with ``onnx`` alone."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nli_checkpoints import judge
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from veridical.errors import ModelError, UsageError
from veridical.models import LABELS, load_nli
from veridical.models.nli import onnx as onnx_nli
from veridical.models.nli.int8 import RANGES, agreement_pairs, require_agreement
from veridical.models.nli.labels import PLAIN
from veridical.models.nli.onnx import OnnxNli

pytestmark = pytest.mark.torch  # with the extra come the tests that need the package onnx
onnx = pytest.importorskip("onnx")

PAIRS = [tuple(pair) for pair, _ in PLAIN]
WIDTH = 48


def tokenizer() -> Tokenizer:
    """One token a word, of the plain pairs and the agreement pairs."""
    made = Tokenizer(models.WordLevel({"[PAD]": 0}, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    texts = [t for pair in [*PAIRS, *agreement_pairs()] for t in pair]
    words = sorted({w for t in texts for w, _ in made.pre_tokenizer.pre_tokenize_str(t.lower())})
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words]
    made.model = models.WordLevel({w: i for i, w in enumerate(names)}, unk_token="[UNK]")
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return made


def build(
    folder: Path,
    order: tuple[str, ...] = LABELS,
    names: tuple[str, ...] | None = None,
    *,
    spoil: float = 0.0,
    axes: int = 2,
) -> Path:
    """A graph whose outputs are ``order``: tanh(mean of random word vectors) times a matrix that
    gives each plain pair's class a logit 4 above the others'.

    ``spoil`` is added to the weights of one feature and taken from those of its twin: nothing to
    float32, but it takes the 8-bit scale of every column for itself.
    """
    from onnx import TensorProto, helper, numpy_helper

    folder.mkdir(parents=True, exist_ok=True)
    made = tokenizer()
    made.save(str(folder / "tokenizer.json"))
    if names is None:
        names = order
    (folder / "config.json").write_text(json.dumps({"id2label": dict(enumerate(names))}))
    rng = np.random.default_rng(3)
    table = rng.standard_normal((2 * made.get_vocab_size(), WIDTH), dtype=np.float32)
    table[:, 0] = table[:, 1]
    encodings = [made.encode(*pair) for pair in PAIRS]
    rows = [np.array(e.ids) + made.get_vocab_size() * np.array(e.type_ids) for e in encodings]
    features = np.tanh(np.stack([table[r].mean(axis=0) for r in rows]))
    wanted = np.array([[4.0 * (c == label) for c in order] for _, label in PLAIN])
    weights = np.linalg.lstsq(features, wanted, rcond=None)[0].astype(np.float32)
    weights[0] += spoil
    weights[1] -= spoil

    def constant(name: str, value: Any) -> Any:
        return numpy_helper.from_array(np.asarray(value), name)

    node = helper.make_node
    nodes = [
        node("Mul", ["token_type_ids", "size"], ["shift"]),
        node("Add", ["input_ids", "shift"], ["places"]),
        node("Gather", ["table", "places"], ["vectors"]),
        node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        node("Unsqueeze", ["mask", "last"], ["mask3"]),
        node("Mul", ["vectors", "mask3"], ["masked"]),
        node("ReduceSum", ["masked", "middle"], ["sum"], keepdims=0),
        node("ReduceSum", ["mask", "middle"], ["count"], keepdims=1),
        node("Div", ["sum", "count"], ["mean"]),
        node("Tanh", ["mean"], ["features"]),
        node("MatMul", ["features", "weights"], ["logits"]),
    ]
    if axes == 3:
        nodes.append(node("Unsqueeze", ["logits", "last"], ["cube"]))
    inputs = [
        helper.make_tensor_value_info(n, TensorProto.INT64, ["b", "s"])
        for n in ("input_ids", "attention_mask", "token_type_ids")
    ]
    output = helper.make_tensor_value_info(
        "logits" if axes == 2 else "cube", TensorProto.FLOAT, ["b", 3, 1][:axes]
    )
    weights_ = [
        constant("table", table),
        constant("weights", weights),
        constant("size", np.array(made.get_vocab_size())),
        constant("last", np.array([-1])),
        constant("middle", np.array([1])),
    ]
    graph = helper.make_graph(nodes, "nli", inputs, [output], weights_)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(folder / "model.onnx"))
    return folder


def plain(model: Any) -> list[str]:
    return [LABELS[i] for i in judge(model, PAIRS).argmax(axis=1)]


@pytest.mark.parametrize("order", list(permutations(LABELS)))
def test_permuted_heads_give_their_classes(order: tuple[str, ...], tmp_path: Path) -> None:
    truth = [label for _, label in PLAIN]
    named = OnnxNli(build(tmp_path / "named", order), threads=1)
    assert plain(named) == truth
    numbered = ("LABEL_0", "LABEL_1", "LABEL_2")
    unnamed = OnnxNli(build(tmp_path / "numbered", order, numbered), threads=1)
    assert plain(unnamed) == truth
    assert named.revision == unnamed.revision  # the same weights in the same order
    with pytest.raises(ModelError, match="do not fit its answers"):
        OnnxNli(build(tmp_path / "wrong", order, (order[1], order[0], order[2])), threads=1)
    stated = load_nli(f"onnx:{tmp_path / 'wrong'}?labels={','.join(order)}", threads=1)
    assert plain(stated) == truth


def test_probabilities_and_batches(tmp_path: Path) -> None:
    """Each plain pair's logits are 4, 0, 0; what shares a batch changes nothing."""
    model = OnnxNli(build(tmp_path), threads=2)
    assert (model.workers, model.contradicts, model.name) == (2, True, tmp_path.name)
    sure = np.exp(4) / (np.exp(4) + 2)
    found = judge(model, [*PAIRS, (" ".join(p for p, _ in PAIRS), "")])
    np.testing.assert_allclose(found[:6].max(axis=1), sure, atol=1e-4)
    np.testing.assert_allclose(judge(model, PAIRS, batch=1), found[:6], atol=1e-5)
    (tmp_path / "calibration.json").write_text('{"temperature": 2.0}')
    cooler = OnnxNli(tmp_path, threads=1)
    sure = np.exp(2) / (np.exp(2) + 2)
    np.testing.assert_allclose(judge(cooler, PAIRS).max(axis=1), sure, atol=1e-4)
    assert cooler.revision != model.revision


@pytest.fixture(autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs are kept between starts: not between tests."""
    monkeypatch.setenv("VERIDICAL_CACHE", str(tmp_path_factory.mktemp("cache")))


def test_int8_that_agrees_is_used(tmp_path: Path) -> None:
    exact = OnnxNli(build(tmp_path), threads=1)
    model: Any = load_nli(f"{tmp_path}?precision=int8", threads=1)
    assert model.revision != exact.revision
    found = judge(model, PAIRS)
    np.testing.assert_allclose(found, judge(exact, PAIRS), atol=0.05)
    assert np.abs(found - judge(exact, PAIRS)).max() > 1e-6  # it is another graph
    np.testing.assert_array_equal(judge(model, PAIRS, batch=1), found)
    assert not list(tmp_path.glob("*int8*"))


def test_int8_that_does_not_agree_is_refused(tmp_path: Path) -> None:
    folder = build(tmp_path / "spoilt", spoil=1e4)
    assert plain(OnnxNli(folder, threads=1)) == [label for _, label in PLAIN]
    with pytest.raises(ModelError, match=r"int8 has the class of float32 for \d+\.\d% of 96"):
        OnnxNli(folder, threads=1, precision="int8")


def test_a_shipped_int8_graph_is_held_to_the_same(tmp_path: Path) -> None:
    folder = build(tmp_path / "model")
    other = build(tmp_path / "other", ("contradiction", "entailment", "neutral"))
    shipped = folder / "model.int8.onnx"
    shipped.write_bytes((other / "model.onnx").read_bytes())
    with pytest.raises(ModelError, match="int8 has the class of float32 for"):
        OnnxNli(folder, threads=1, precision="int8")
    shipped.write_bytes((folder / "model.onnx").read_bytes())
    model = OnnxNli(folder, threads=1, precision="int8")
    np.testing.assert_allclose(
        judge(model, PAIRS), judge(OnnxNli(folder, threads=1), PAIRS), atol=1e-6
    )


def test_int8_is_compared_with_float32_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("VERIDICAL_CACHE", str(cache))
    asked: list[Any] = []
    monkeypatch.setattr(
        onnx_nli, "require_agreement", lambda *a: (asked.append(a), require_agreement(*a))
    )
    folder = build(tmp_path / "model")
    first = judge(OnnxNli(folder, threads=1, precision="int8"), PAIRS)
    (kept,) = (cache / "int8").iterdir()
    whole = kept.read_bytes()
    again = judge(OnnxNli(folder, threads=1, precision="int8"), PAIRS)
    np.testing.assert_array_equal(again, first)
    assert len(asked) == 1
    kept.write_bytes(whole[:-1])  # as of a disk that was full
    np.testing.assert_array_equal(judge(OnnxNli(folder, threads=1, precision="int8"), PAIRS), first)
    assert len(asked) == 2 and kept.read_bytes() == whole
    other = build(tmp_path / "other", ("contradiction", "entailment", "neutral"))
    OnnxNli(other, threads=1, precision="int8")
    assert len(asked) == 3 and len(list((cache / "int8").iterdir())) == 2
    OnnxNli(other, threads=1)
    assert len(list((cache / "int8").iterdir())) == 2
    (folder / RANGES).write_bytes(whole)  # as a folder that was compared before it was shipped
    np.testing.assert_array_equal(judge(OnnxNli(folder, threads=1, precision="int8"), PAIRS), first)
    assert len(asked) == 3


def test_int8_where_nothing_can_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_text("no folder")
    monkeypatch.setenv("VERIDICAL_CACHE", str(file / "cache"))
    folder = build(tmp_path / "model")
    for _ in range(2):
        assert plain(OnnxNli(folder, threads=1, precision="int8")) == [x for _, x in PLAIN]


def test_other_precisions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown precision 'int4'"):
        OnnxNli(build(tmp_path), threads=1, precision="int4")


def test_a_graph_whose_weights_are_in_another_file(tmp_path: Path) -> None:
    folder = build(tmp_path)
    path = folder / "model.onnx"
    onnx.save(
        onnx.load(path),
        path,
        save_as_external_data=True,
        location="model.onnx.data",
        size_threshold=1000,
    )
    with pytest.raises(ModelError, match=r"model\.onnx: .* are in another file"):
        OnnxNli(folder, threads=1, precision="int8")


def test_limits_of_agreement() -> None:
    exact = np.tile(np.float32([0.6, 0.3, 0.1]), (40, 1))
    require_agreement("m", exact, exact)
    near, flipped = exact.copy(), exact.copy()
    near[:2] = [0.3, 0.6, 0.1]  # 2 of 40 are 5 %
    require_agreement("m", exact, near)
    flipped[:3] = [0.3, 0.6, 0.1]
    with pytest.raises(ModelError, match=r"for 92\.5% of 40 pairs"):
        require_agreement("m", exact, flipped)
    with pytest.raises(ModelError, match=r"differ by 0\.033 on average"):
        require_agreement("m", exact, exact + np.float32([0.05, -0.05, 0]))
    with pytest.raises(ModelError):
        require_agreement("m", exact, np.full_like(exact, np.nan))


def test_the_agreement_pairs_are_short_and_long() -> None:
    pairs = agreement_pairs()
    assert len(set(pairs)) == 96
    lengths = [len(p.premise.split()) for p in pairs]
    assert sum(n < 20 for n in lengths) >= 24 and sum(n > 120 for n in lengths) >= 12


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("calibration.json", '{"temperature": 0}', "temperature must be positive, not 0"),
        ("calibration.json", '{"temperature": "warm"}', "temperature must be positive, not 'warm'"),
        ("config.json", '{"max_position_embeddings": 12}', "too short"),
        ("config.json", '{"max_position_embeddings": 4}', "no room for a pair"),
        ("config.json", "[]", "config.json must be a JSON dict"),
        ("config.json", '{"id2label": {"0": "entail", "1": "contradict"}}', "has 3 outputs"),
        ("tokenizer.json", "{}", "tokenizer.json"),
        ("model.onnx", "x", "model.onnx"),
    ],
)
def test_broken_folders_are_model_errors(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    (build(tmp_path) / name).write_text(content)
    with pytest.raises(ModelError, match=message):
        OnnxNli(tmp_path, threads=1)


def test_graphs_that_classify_nothing_are_model_errors(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no output has the shape \(batch, classes\)"):
        OnnxNli(build(tmp_path, axes=3), threads=1)
    (tmp_path / "model.onnx").unlink()
    with pytest.raises(ModelError, match=r"neither model\.onnx nor"):
        OnnxNli(tmp_path, threads=1)


def test_a_stated_order_is_believed_after_one_pair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The six plain pairs are for finding it out; the revision is the same either way."""
    build(tmp_path)
    sizes: list[int] = []
    forward = onnx_nli._Logits.__call__

    def counted(self: Any, batch: Any) -> Any:
        sizes.append(len(batch))
        return forward(self, batch)

    monkeypatch.setattr(onnx_nli._Logits, "__call__", counted)
    found = OnnxNli(tmp_path, threads=1)
    stated = OnnxNli(tmp_path, threads=1, labels=",".join(found._order.classes))
    assert sizes == [6, 1]
    assert stated.revision == found.revision
