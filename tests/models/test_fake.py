"""The encoder shipped for users' tests does what it says."""

from __future__ import annotations

import numpy as np
import pytest
from fake_models import FakeEncoder

from veridical.core.protocols import Encoded
from veridical.errors import ModelError


def encode(encoder: FakeEncoder, text: str) -> Encoded:
    (windows,) = encoder.windows([text])
    return encoder.assemble(windows, encoder.run(windows, True), True)


def test_vectors_follow_the_words() -> None:
    first, second = FakeEncoder(), FakeEncoder()
    a = encode(first, "Paris is big").vector
    np.testing.assert_array_equal(a, encode(second, "Paris is big").vector)
    np.testing.assert_allclose(a, encode(first, "big is PARIS").vector, atol=1e-6)
    assert np.linalg.norm(a) == pytest.approx(1, abs=1e-6)
    near = a @ encode(first, "Paris is large").vector
    assert near > a @ encode(first, "seven green apples").vector


def test_one_token_a_word_across_windows() -> None:
    encoder = FakeEncoder(max_length=10)
    text = " ".join(f"w{i}" for i in range(50))
    found = encode(encoder, text)
    assert found.content is not None and found.token_ids is not None
    assert found.content.sum() == 50
    single = FakeEncoder(max_length=100)
    expected = encode(single, text).token_ids
    assert found.token_ids.tolist() == (expected.tolist() if expected is not None else None)


def test_empty_text() -> None:
    assert np.linalg.norm(encode(FakeEncoder(), "").vector) == pytest.approx(1, abs=1e-6)


def test_counts_its_work() -> None:
    encoder = FakeEncoder()
    windows = [w for ws in encoder.windows(["a b c", "d"]) for w in ws]
    encoder.run(windows, False)
    encoder.run(windows[:1], False)
    assert (encoder.calls, encoder.tokens_run, encoder.batches) == (2, 13, [2, 1])


def test_fails_where_told_to() -> None:
    encoder = FakeEncoder(fail_on=lambda text: "poison" in text)
    good, bad = encoder.windows(["fine", "poison here"])
    assert len(encoder.run(good, False)) == 1
    with pytest.raises(ModelError, match="told to fail"):
        encoder.run([*good, *bad], False)


def test_room_for_a_word_is_needed() -> None:
    with pytest.raises(ValueError, match="at least 3"):
        FakeEncoder(max_length=2)
