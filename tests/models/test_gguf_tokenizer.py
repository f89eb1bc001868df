"""Tokenizers out of GGUF files against those that the files were made of, and published rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf_files
import pytest
from causal_checkpoints import tokenizer

from veridical.errors import ModelError
from veridical.models.gguf import Gguf
from veridical.models.gguf_tokenizer import read_tokenizer, token_id, token_text

TEXTS = [
    "Paris is in France.",
    "naïve 東京 \U0001f600!",
    "  two\n\n lines ",
    "It's 12345, DON'T",
    "",
]


def made(path: Path, **changes: Any) -> Any:
    return read_tokenizer(Gguf(gguf_files.save(path, **changes)))


def test_it_is_the_one_the_file_was_made_of(tmp_path: Path) -> None:
    ours, theirs = made(tmp_path / "m.gguf"), tokenizer("gpt2")
    for text in TEXTS:
        assert ours.encode(text).ids == theirs.encode(text).ids
        assert ours.decode(ours.encode(text).ids) == text
    spelled = "<|user|>Hi<|end|>"
    assert ours.encode(spelled).ids == theirs.encode(spelled).ids
    assert ours.encode(spelled).ids[0] == theirs.token_to_id("<|user|>")
    special = {t.content for t in ours.get_added_tokens_decoder().values() if t.special}
    assert special == {"<|endoftext|>", "<|user|>", "<|assistant|>", "<|end|>"}


@pytest.mark.parametrize(
    ("cut", "pieces"),
    [
        ("gpt-2", ["It", "'s", "Ġ12345", ",", "ĠDON", "'", "T", "Ċ", "Ċ", "Ġx"]),
        ("smollm", ["It", "'s", "Ġ", "1", "2", "3", "4", "5", ",", "ĠDON", "'", "T", "ĊĊ", "Ġx"]),
        ("qwen2", ["It", "'s", "Ġ", "1", "2", "3", "4", "5", ",", "ĠDON", "'T", "ĊĊ", "Ġx"]),
        ("llama-bpe", ["It", "'s", "Ġ", "123", "45", ",", "ĠDON", "'T", "ĊĊ", "Ġx"]),
    ],
)
def test_texts_are_cut_by_the_models_rule(cut: str, pieces: list[str], tmp_path: Path) -> None:
    ours = made(tmp_path / "m.gguf", **{"tokenizer.ggml.pre": cut})
    found = [piece for piece, _ in ours.pre_tokenizer.pre_tokenize_str("It's 12345, DON'T\n\n x")]
    assert "".join(found) == "".join(pieces)
    if cut != "gpt-2":  # whose own rule splits line breaks by what follows
        assert found == pieces


def test_tokens_that_begin_a_text(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    assert made(path).encode("Hi").ids[0] != 0
    assert made(path, **{"tokenizer.ggml.add_bos_token": True}).encode("Hi").ids[0] == 0
    unsaid = {"tokenizer.ggml.add_bos_token": None, "tokenizer.ggml.pre": "llama-bpe"}
    assert made(path, **unsaid).encode("Hi").ids[0] == 0
    file = Gguf(gguf_files.save(path, **{"tokenizer.ggml.bos_token_id": None}))
    assert token_id(file, "bos") is None and token_text(file, "bos") == ""
    assert token_id(file, "eos") == 0 and token_text(file, "eos") == "<|endoftext|>"
    file = Gguf(gguf_files.save(path, **{"tokenizer.ggml.bos_token_id": 1 << 20}))
    assert token_id(file, "bos") is None


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"tokenizer.ggml.pre": "tekken"}, r"\(gpt2, tekken\) is not supported; supported: gpt2"),
        ({"tokenizer.ggml.pre": None}, r"\(gpt2, None\) is not supported"),
        ({"tokenizer.ggml.model": ["gpt2"]}, "is not supported"),
        ({"tokenizer.ggml.tokens": "none"}, r"has no list tokenizer\.ggml\.tokens"),
        ({"tokenizer.ggml.merges": None}, r"has no list tokenizer\.ggml\.merges"),
        ({"tokenizer.ggml.merges": ["one none"]}, "cannot be built"),
    ],
)
def test_tokenizers_that_are_not_known(
    changes: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "m.gguf"
    vocabulary = gguf_files.metadata("llama")["tokenizer.ggml.tokens"]
    made = gguf_files.save(path, sized=len(vocabulary), **changes)
    with pytest.raises(ModelError, match=problem):
        read_tokenizer(Gguf(made))
