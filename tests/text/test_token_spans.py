from __future__ import annotations

import contextlib
import itertools

import pytest
from growing import MOST, growth
from hostile_texts import repeated
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from veridical.text.token_spans import MisalignedTokens, token_spans

CORPUS = [
    "Paris is in France; the Seine runs through it.",
    "naïve 東京 😀 in €5 notes.\n\nNext.",
] * 3
TEXTS = [
    "Paris is in France.",
    "  leading and trailing  ",
    "naïve 東京 😀 👩‍👩‍👧 cost €5!\n\nNext\tline",
    "a\u00a0b é é",
]


def spelled(tokens: list[str], text: str) -> list[tuple[int, str]]:
    return [(s.place, text[s.start : s.end]) for s in token_spans(tokens, text)]


def byte_level() -> Tokenizer:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        CORPUS,
        trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False),
    )
    return made


def sentence_piece() -> Tokenizer:
    made = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    made.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    special = ["<unk>", *(f"<0x{b:02X}>" for b in range(256))]
    made.train_from_iterator(
        CORPUS,
        trainers.BpeTrainer(vocab_size=320, special_tokens=special, show_progress=False),
    )
    return made


BYTES = byte_level()
PIECES = sentence_piece()


def test_plain_strings_have_the_offsets_of_their_lengths() -> None:
    assert token_spans(["Hel", "lo", " wor", "ld"], "Hello world") == [
        (0, 0, 3),
        (1, 3, 5),
        (2, 5, 9),
        (3, 9, 11),
    ]


@pytest.mark.parametrize("text", TEXTS)
def test_byte_level_pieces_have_the_tokenizers_own_offsets(text: str) -> None:
    # a library that is not ours says where each piece stands, a split character in each
    found = BYTES.encode(text)
    assert [(s.start, s.end) for s in token_spans(found.tokens, text)] == found.offsets


@given(st.text(st.sampled_from("ab Ġ▁é東😀\n"), min_size=1, max_size=20))
@settings(deadline=None, max_examples=60)
def test_byte_level_pieces_of_any_text(text: str) -> None:
    found = BYTES.encode(text)
    if "".join(found.tokens) == text:
        return
    spans = token_spans(found.tokens, text)
    # leading blanks may be read as stripped ones only where the text has none
    assert [(s.start, s.end) for s in spans] == found.offsets


@pytest.mark.parametrize("text", ["Paris is in France.", "naïve 東京 😀 cost €5!\n\nNext"])
def test_sentence_piece_and_byte_fallback_cover_the_whole_text(text: str) -> None:
    tokens = PIECES.encode(text).tokens
    assert any(t.startswith("<0x") for t in tokens) or "P" in text
    spans = token_spans(["<s>", *tokens, "</s>"], text)
    assert spans[0].start == 0 and spans[-1].end == len(text)
    for before, after in itertools.pairwise(spans):
        assert after.start in (before.end, before.end - 1)  # a split character is in both


def test_split_characters_belong_whole_to_each_of_their_tokens() -> None:
    tokens = ["bytes:\\xe2\\x82", "bytes:\\xac", "5 ", "\\xf0\\x9f", "\\x98\\x80", "!"]
    assert spelled(tokens, "€5 😀!") == [
        (0, "€"),
        (1, "€"),
        (2, "5 "),
        (3, "😀"),
        (4, "😀"),
        (5, "!"),
    ]


def test_an_escape_that_the_text_itself_spells_is_text() -> None:
    assert spelled(["\\xe2\\x82\\xac", " is \\xe2"], "€ is \\xe2") == [(0, "€"), (1, " is \\xe2")]


@pytest.mark.parametrize(
    ("tokens", "text", "expected"),
    [
        (["\n\n", " Hel", "lo", "\n", "<|im_end|>"], "Hello", [(1, "Hel"), (2, "lo")]),
        (["<s>", "▁Hello", "▁you", "</s>"], "Hello you", [(1, "Hello"), (2, " you")]),
        (["Hello", "", "<|endoftext|>", ""], "Hello", [(0, "Hello")]),
        ([" Hello "], "Hello", [(0, "Hello")]),
        (["A ", "<b>", " tag"], "A <b> tag", [(0, "A "), (1, "<b>"), (2, " tag")]),
        (["ĠHi", "<｜end▁of▁sentence｜>"], "Hi", [(0, "Hi")]),
    ],
)
def test_what_the_text_was_stripped_of_is_left_out(
    tokens: list[str], text: str, expected: list[tuple[int, str]]
) -> None:
    assert spelled(tokens, text) == expected


@pytest.mark.parametrize("lost", [[], [""], ["\ufffd", "\ufffd"], ["", "", ""]])
def test_white_space_before_a_character_that_was_cut_is_no_tokens(lost: list[str]) -> None:
    """llama.cpp's server, out of tokens within " 🎉": the space is in its text, and in no token."""
    assert spelled(["named", " ⟪", *lost], "named ⟪ ") == [(0, "named"), (1, " ⟪")]


@pytest.mark.parametrize("lost", [[], [""], ["", "", ""]])
def test_characters_of_a_token_that_was_cut_are_no_tokens(lost: list[str]) -> None:
    """llama.cpp's server, out of tokens within a token of one character and a half."""
    expected = [(0, "Это"), (1, " сл")]
    assert spelled(["Это", " сл", *lost], "Это сло")[:2] == expected
    assert spelled(["Это", " сл"], "Это сл") == expected
    for more in ("Это слa", "Это словоо", "Это сл о о", "Это сл\ufffd\ufffd\ufffd"):
        with pytest.raises(MisalignedTokens, match="the tokens end"):
            token_spans(["Это", " сл"], more)


@pytest.mark.parametrize(
    ("tokens", "text", "expected"),
    [
        (["", "", "\ufffd", "\ufffd", " ok"], "😀 ok", ["😀", "😀", "😀", "😀", " ok"]),
        (["a", "\ufffd", "\ufffd", "b", ""], "a本b", ["a", "本", "本", "b"]),
        (["本", "\ufffd", "\ufffd", "本", "本"], "本日本本", ["本", "日", "日", "本", "本"]),
        ([" \ufffd", "\ufffd", "!", "\n"], "é!", ["é", "é", "!"]),
        (["\ufffd"] * 8 + ["😀"], "😀😀😀", ["😀"] * 9),
        (["x\ufffd", "\ufffd", "y"], "xéy", ["xé", "é", "y"]),
    ],
)
def test_characters_that_a_server_could_not_write(
    tokens: list[str], text: str, expected: list[str]
) -> None:
    assert [piece for _, piece in spelled(tokens, text)] == expected


def test_bytes_that_a_server_held_back_belong_to_the_character_they_begin() -> None:
    tokens = ["", "a", "", "", "", "😀", "", "b", "", "", "é!", ""]
    assert spelled(tokens, "a😀bé!") == [
        (1, "a"),
        (2, "😀"),
        (3, "😀"),
        (4, "😀"),
        (5, "😀"),
        (7, "b"),
        (9, "é"),  # of two bytes: one token at most can have been held back
        (10, "é!"),
    ]


def test_a_replacement_character_of_the_text_is_a_character() -> None:
    assert spelled(["a\ufffd", "b"], "a\ufffdb") == [(0, "a\ufffd"), (1, "b")]


@pytest.mark.parametrize(
    ("tokens", "text", "said"),
    [
        (["Hello", " cat"], "Hello dog", r"character 6 the text has 'dog', token 1 is ' cat'"),
        (["Hello"], "Hello dog", r"character 5 the text has ' dog', the tokens end"),
        (["Hello", " dog"], "Hello", r"character 5 the text ends, token 1 is ' dog'"),
        (["Hello", " dog", "!"], "Hello!", r"token 1 is ' dog'"),
        (["\ufffd", "b"], "ab", r"character 0 the text has 'ab'"),
        (["<|im_end|>", "Hi"], "Ho", r"character 1 the text has 'o', token 1 is 'Hi'"),
        (["\ud83d", "\ude00"], "😀", r"character 0"),
        (["a", "<|im_end|>", "b"], "ab", r"character 1 the text has 'b', token 1"),
        ([], "a", "the tokens end"),
        (["token_id:5", "token_id:9"], "Hi", "token 0 is 'token_id:5'"),
    ],
)
def test_tokens_that_spell_something_else(tokens: list[str], text: str, said: str) -> None:
    with pytest.raises(MisalignedTokens, match=said):
        token_spans(tokens, text)


def test_the_reason_is_short_whatever_the_tokens_are() -> None:
    with pytest.raises(MisalignedTokens) as caught:
        token_spans(["x" * 100_000], "y" * 100_000)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("tail", [["x"], ["日", "\ufffd"] * 50 + ["x"], []])
def test_hostile_lost_characters_take_bounded_time(tail: list[str]) -> None:
    def place(text: str) -> object:
        with contextlib.suppress(MisalignedTokens):
            return token_spans(["\ufffd"] * len(text) + tail, text)
        return None

    assert growth(place, repeated("日本")) < MOST


@given(st.lists(st.text(max_size=6), max_size=8), st.text(max_size=20))
@settings(deadline=None, max_examples=200)
def test_any_tokens_are_placed_inside_the_text_or_refused(tokens: list[str], text: str) -> None:
    try:
        spans = token_spans(tokens, text)
    except MisalignedTokens:
        return
    assert [s.place for s in spans] == sorted({s.place for s in spans})
    assert all(0 <= s.start < s.end <= len(text) for s in spans)
    covered = {i for s in spans for i in range(s.start, s.end)}
    assert covered >= set(range(len(text.rstrip())))
    assert all(a.end >= b.start and a.start <= b.start for a, b in itertools.pairwise(spans))


@given(st.text(min_size=1, max_size=30), st.lists(st.integers(0, 30), max_size=6))
@settings(deadline=None, max_examples=100)
def test_any_cut_of_a_text_spells_it(text: str, cuts: list[int]) -> None:
    ends = sorted({0, len(text), *(c for c in cuts if c < len(text))})
    tokens = [text[a:b] for a, b in itertools.pairwise(ends)]
    assert [text[s.start : s.end] for s in token_spans(tokens, text)] == tokens
