"""How prompt and text become tokens: joins, offsets, special tokens, windows."""

from __future__ import annotations

import numpy as np
import pytest
from causal_checkpoints import TEXTS, tokenizer
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

from veridical.core.tokens import GivenText
from veridical.errors import ModelError
from veridical.models.causal.tokens import ReadWindower


def words(*vocabulary: str) -> Tokenizer:
    """One token a word, a run of white space, or a mark; spaces are marked as byte-level does."""
    made = Tokenizer(models.WordLevel({w: i for i, w in enumerate(vocabulary)}, unk_token="?"))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return made


def only(windower: ReadWindower, prompt: str, text: str):
    ((window,),) = windower([GivenText(prompt, text)])
    return window.content


def spelled(made: Tokenizer, ids) -> list[str]:
    return [made.id_to_token(int(i)) for i in ids]


WORDS = ("?", "<s>", "A", ":", "Ġ", "ĠParis", "Paris", "Ġis", "is", "Par")


def test_prompt_and_text_are_read_as_one() -> None:
    made = words(*WORDS)
    read = only(ReadWindower(made, 64, 1), "A:", " Paris is")
    assert spelled(made, read.ids) == ["A", ":", "ĠParis", "Ġis"] and read.first == 2
    assert list(zip(read.starts, read.ends, strict=True)) == [(0, 6), (6, 9)]


def test_a_space_at_the_prompts_end_belongs_to_the_texts_first_token() -> None:
    made = words(*WORDS)
    read = only(ReadWindower(made, 64, 1), "A: ", "Paris is")
    assert spelled(made, read.ids) == ["A", ":", "ĠParis", "Ġis"] and read.first == 2
    assert list(zip(read.starts, read.ends, strict=True)) == [(0, 5), (5, 8)]


def test_a_token_with_letters_of_both_sides_is_taken_apart() -> None:
    made = words(*WORDS)
    read = only(ReadWindower(made, 64, 1), "A:Par", "is")
    assert spelled(made, read.ids) == ["A", ":", "Par", "is"] and read.first == 3
    assert list(zip(read.starts, read.ends, strict=True)) == [(0, 2)]


def test_sentencepiece_texts_that_are_taken_apart_get_no_space() -> None:
    made = tokenizer("llama")
    windower = ReadWindower(made, 64, 1)
    joint = only(windower, "", "Paris")
    assert spelled(made, joint.ids) == ["<s>", "▁Paris"]
    apart = only(windower, "Par", "is")
    assert "".join(spelled(made, apart.ids[apart.first :])) == "is"
    assert (apart.starts[0], apart.ends[-1]) == (0, 2)


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_special_tokens_are_special_in_the_prompt_and_letters_in_the_text(kind: str) -> None:
    made = tokenizer(kind)
    windower = ReadWindower(made, 64, 0)
    read = only(windower, "<|user|>Hi<|end|><|assistant|>", "In Mali.<|end|>")
    end = made.token_to_id("<|end|>")
    before, after = read.ids[: read.first].tolist(), read.ids[read.first :].tolist()
    assert before.count(end) == 1 and made.token_to_id("<|assistant|>") in before
    assert end not in after
    assert read.starts[0] == 0 and read.ends[-1] == len("In Mali.<|end|>")


def test_what_comes_first() -> None:
    gpt2, llama = tokenizer("gpt2"), tokenizer("llama")
    plain = ReadWindower(gpt2, 64, 0)
    assert only(plain, "", "Paris").ids[0] == 0  # nothing else precedes the first token
    assert 0 not in only(plain, "Hi.", "Paris").ids  # the tokenizer adds none by itself
    begun = ReadWindower(llama, 64, None)
    for prompt in ("", "Hi.", "<s>Hi."):
        read = only(begun, prompt, " Paris")
        assert read.ids[0] == 1 and (read.ids == 1).sum() == 1
    with pytest.raises(ModelError, match="needs a prompt before the text"):
        ReadWindower(tokenizer("gpt2"), 64, None)([GivenText("", "Paris")])


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
@pytest.mark.parametrize(("prompt", "text"), [*TEXTS, ("A", ""), ("", ""), ("x", "\ud800y")])
def test_tokens_tile_the_text(kind: str, prompt: str, text: str) -> None:
    windower = ReadWindower(tokenizer(kind), 64, 0)
    read = only(windower, prompt, text)
    assert len(read.starts) == len(read.ends) == len(read.ids) - read.first
    if text:
        assert read.starts[0] == 0 and read.ends[-1] == len(text)
        assert (np.diff(read.starts) >= 0).all() and (np.diff(read.ends) >= 0).all()
        # either a token begins where the one before ends, or both hold a part of one character
        same = (read.starts[1:] == read.starts[:-1]) & (read.ends[1:] == read.ends[:-1])
        assert ((read.starts[1:] == read.ends[:-1]) | same).all()


def test_trimmed_offsets_get_their_white_space_back() -> None:
    made = tokenizer("gpt2")
    assert isinstance(made.post_processor, processors.ByteLevel)
    assert made.encode("a b").offsets[1] != (1, 2)  # as it comes: the space is left out
    read = only(ReadWindower(made, 64, 0), "", "it is in Mali")
    pieces = ["it is in Mali"[a:b] for a, b in zip(read.starts, read.ends, strict=True)]
    assert "".join(pieces) == "it is in Mali"


@pytest.mark.parametrize("prompt_words", [0, 3, 11, 16, 17, 60])
def test_long_texts_are_read_in_windows_with_what_precedes(prompt_words: int) -> None:
    vocabulary = ["?", "<s>", *(f"w{i}" for i in range(100)), *(f"Ġw{i}" for i in range(100))]
    made = words(*vocabulary)
    made.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_next")
    made.model = models.WordLevel(
        {w.replace("Ġ", " "): i for i, w in enumerate(vocabulary)}, unk_token="?"
    )
    everything = [f"w{i}" for i in range(90)]
    prompt = " ".join(everything[:prompt_words])
    text = (" " if prompt else "") + " ".join(everything[prompt_words:])
    (windows,) = ReadWindower(made, 16, 1)([GivenText(prompt, text)])
    assert all(w.length <= 16 for w in windows)
    whole = made.encode(prompt + text).ids
    scored, ends = [], []
    for k, window in enumerate(windows):
        read = window.content
        ids = read.ids.tolist()
        place = prompt_words + len(scored)
        head = 1 if not prompt_words else 0  # the start token is kept in every window
        assert ids[:head] == [1] * head
        context = ids[head : read.first]
        assert context == whole[place - len(context) : place]
        assert context or not k
        if k:
            assert window.overlap == read.first >= 8  # at least half of a window
        scored += ids[read.first :]
        ends += read.ends.tolist()
    assert scored == whole[prompt_words:] and ends[-1] == len(text)
    assert (np.diff(ends) > 0).all()


def test_windows_too_short_to_read_in_are_refused() -> None:
    with pytest.raises(ModelError, match="too short"):
        ReadWindower(tokenizer("llama"), 2, None)


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_a_token_is_spelled_with_the_white_space_before_it(kind: str) -> None:
    made = tokenizer(kind)
    made.decoder = decoders.ByteLevel() if kind == "gpt2" else decoders.Metaspace()
    windower = ReadWindower(made, 64, 0)
    text = " In Mali the sky is blue."
    ids = only(windower, "A", text)
    spelled_text = "".join(windower.spell(int(i)) for i in ids.ids[ids.first :])
    assert spelled_text == text
    assert windower.spell(made.token_to_id("<|end|>")) == "<|end|>"
