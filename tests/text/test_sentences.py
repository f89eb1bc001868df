from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.text.sentences import _library_cuts, split_sentences

CASES = [
    ("It takes approx. 7 hours. Then rest.", ["It takes approx. 7 hours.", "Then rest."]),
    ("The max. Load is 9 kg. Stop.", ["The max. Load is 9 kg.", "Stop."]),
    ("We allow 9 kg max. Children pay.", ["We allow 9 kg max.", "Children pay."]),
    ("See Vol. 4 and No. 6. Then go.", ["See Vol. 4 and No. 6.", "Then go."]),
    ("It closes at 7 p.m. The bar stays.", ["It closes at 7 p.m.", "The bar stays."]),
    ("Er kam am 4. Juli an. Sie auch.", ["Er kam am 4. Juli an.", "Sie auch."]),
    ("Der 3. Band, z. B. hier, fehlt. Gut.", ["Der 3. Band, z. B. hier, fehlt.", "Gut."]),
    ("Es kostet 3 Mio. Euro. Viel.", ["Es kostet 3 Mio. Euro.", "Viel."]),
    ("It was in 7. Then it fell.", ["It was in 7.", "Then it fell."]),
    ("He was 9. 5 left.", ["He was 9.", "5 left."]),
    ("It is 9. he said so.", ["It is 9.", "he said so."]),
    ("Open at 9 ✅ Free entry 🎉 No dogs", ["Open at 9 ✅", "Free entry 🎉", "No dogs"]),
    ("I ❤️ York and 👍 you", ["I ❤️ York and 👍 you"]),
    (
        "Dr. Wu paid $3.50 to J. R. Ewing. He left.",
        ["Dr. Wu paid $3.50 to J. R. Ewing.", "He left."],
    ),
    ("See e.g. Fig. 3 or i.e. that. Done!", ["See e.g. Fig. 3 or i.e. that.", "Done!"]),
    ('He said, "I won\'t!" and left. "Why?"', ['He said, "I won\'t!" and left.', '"Why?"']),
    ("So. (He did.) Then more.", ["So.", "(He did.)", "Then more."]),
    ("The (U.S.) Senate (in Ohio.) Met.", ["The (U.S.) Senate (in Ohio.) Met."]),
    ("“Hello.” ‘Bye.’ He said: «Oui.» Non.", ["“Hello.”", "‘Bye.’", "He said: «Oui.»", "Non."]),
    ("What?! Really!! Yes.", ["What?!", "Really!!", "Yes."]),
    ("Wait... what? It was ... odd.", ["Wait... what?", "It was ... odd."]),
    (
        "Version 3.14.2 is out. See https://a.org/b.c?d=e. Mail me@x.org. OK",
        ["Version 3.14.2 is out.", "See https://a.org/b.c?d=e.", "Mail me@x.org.", "OK"],
    ),
    ("At 5 p.m. we met in the U.S. Senate.", ["At 5 p.m. we met in the U.S. Senate."]),
    ("1. First item\n2. Second item\n3) Third", ["1. First item", "2. Second item", "3) Third"]),
    ("1. First item. 2. Second item.", ["1. First item.", "2. Second item."]),
    ("Steps:\nDo it\n  - one\n  • two", ["Steps:", "Do it", "- one", "• two"]),
    ("# Title\nText here. More\n## Sub\nx", ["# Title", "Text here.", "More", "## Sub", "x"]),
    ("A line wrapped\nin the middle. Next", ["A line wrapped\nin the middle.", "Next"]),
    ("One\n \t\nTwo\r\n\r\nThree\n\n\n\nFour", ["One", "Two", "Three", "Four"]),
    ("a.\n\nb", ["a.", "b"]),
    ("one\u2028two\u2029three", ["one", "two", "three"]),
    ("他来了。她走了！真的吗？是的", ["他来了。", "她走了！", "真的吗？", "是的"]),
    ("これは本です。それはペンです。", ["これは本です。", "それはペンです。"]),
    ("यह एक है। यह दूसरा है॥ तीसरा?", ["यह एक है।", "यह दूसरा है॥", "तीसरा?"]),
    ("هل أنت بخير؟ نعم۔ حسنا.", ["هل أنت بخير؟", "نعم۔", "حسنا."]),
    ("Սա մեկն է։ Երկրորդ։", ["Սա մեկն է։", "Երկրորդ։"]),
    ("ይህ ነው። ሁለተኛ፧ ሦስተኛ", ["ይህ ነው።", "ሁለተኛ፧", "ሦስተኛ"]),
    ("នេះ។ ទីពីរ។", ["នេះ។", "ទីពីរ។"]),
    ("သွားသည်။ လာသည်။", ["သွားသည်။", "လာသည်။"]),
    ("Он пришёл. Она ушла.", ["Он пришёл.", "Она ушла."]),
    ("สวัสดีครับ\n\nผมชื่อสมชาย", ["สวัสดีครับ", "ผมชื่อสมชาย"]),
    ("😀 Hé there. 👍🏽 Ok.", ["😀 Hé there.", "👍🏽 Ok."]),
    ("  no stop  ", ["no stop"]),
    ("...", ["..."]),
    ("", []),
    (" \n\t ", []),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_expected_splits(text, expected):
    assert [s.text for s in split_sentences(text)] == expected


def check_spans(text):
    at = 0
    for start, end, piece in split_sentences(text):
        assert text[start:end] == piece == piece.strip() != ""
        assert not text[at:start].strip()
        at = end
    assert not text[at:].strip()


PIECES = st.sampled_from(
    ".!?。।؟“”\"'()[]-#:…é中😀 \n\r\t\u2028\u200d\ufeff\ud800\u3000\x1c\x00"
) | (st.sampled_from(["1. ", "A", "J.", "Dr.", "U.S.", "e.g.", "3.5", "http://a.b", "word"]))


@given(st.text() | st.lists(PIECES).map("".join))
@settings(max_examples=400, deadline=None)
def test_spans_slice_exactly_and_hold_everything(text):
    check_spans(text)


def test_a_panic_of_the_library_costs_its_boundaries_only(capfd):
    """White space of several bytes between an initial and a stop makes sentencex 1.0.32 panic."""
    hostile = "Z\u2028.-("
    assert _library_cuts(hostile) <= {len(hostile)}
    check_spans(hostile)
    assert split_sentences(f"It is so. And {hostile}")[0].text == "It is so."


def test_long_texts_take_linear_time():
    random.seed(0)
    for unit in ('"(', "a. ", "\n", "1. ", "x", ". "):
        check_spans(unit * 50_000)


@pytest.mark.data
def test_agrees_with_the_sentences_of_wikibio(shared_data):
    same = total = 0
    with (shared_data / "wikibio_gpt3" / "wikibio_gpt3.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            item = json.loads(line)
            found = {s.text for s in split_sentences(item["gpt3_text"])}
            expected = [s.strip() for s in item["gpt3_sentences"]]
            same += sum(s in found for s in expected)
            total += len(expected)
    assert total == 1908
    assert same / total >= 0.98  # 1881 when written


def test_very_many_unclosed_quotes_still_give_sentences() -> None:
    text = "He said “yes.” " + "“Never. " * 300
    spans = split_sentences(text)
    assert "".join(s.text for s in spans).replace(" ", "") == text.replace(" ", "")
    assert all(text[s.start : s.end] == s.text for s in spans)
    assert spans[0].text == "He said “yes.”" and len(spans) > 100
