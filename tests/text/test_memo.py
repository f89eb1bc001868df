"""What is kept of texts: each is read once while it is in use, and no more than the bound."""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from veridical.text import memo, passages, sentences
from veridical.text.memo import TEXTS, Memo, kept
from veridical.text.passages import windows
from veridical.text.relevance import candidates, plain_words, rarity_in
from veridical.text.same_matter import same_matter
from veridical.text.sentences import split_anew, split_sentences
from veridical.text.structure import answer_units, read_structure, source_pieces
from veridical.text.verbatim import verbatim
from veridical.text.words import words, words_of


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    TEXTS.clear()
    yield
    TEXTS.clear()


class Counted:
    """A function that counts its calls."""

    def __init__(self, inner):
        self.inner = inner
        self.calls = Counter()

    def __call__(self, *arguments):
        self.calls[arguments] += 1
        return self.inner(*arguments)


def test_the_latest_used_stay_and_no_more_than_the_bound():
    found = Memo(1000)
    for i in range(5):
        found.keep(i, str(i), 100)  # 164 with what an entry counts itself: six would be 984
    assert found.find(0) == ("0",)
    found.keep(5, "5", 100)
    found.keep(6, "6", 100)
    assert found.find(1) is None and found.find(0) == ("0",) and found.held == 6 * 164
    found.keep("large", "", 500)
    assert [i for i in range(7) if found.find(i)] == [0, 6] and found.held == 2 * 164 + 564
    found.keep("too large", "", 1000)  # drives out nothing
    assert found.find("too large") is None and found.find("large") == ("",)
    found.keep("large", "other", 10)  # as when two threads made it
    assert found.find("large") == ("other",) and found.held == 2 * 164 + 74
    found.clear()
    assert found.held == 0 and found.find("large") is None


def test_none_is_a_value_and_what_is_raised_is_not_kept():
    calls = []

    @kept
    def odd(text: str, n: int = 0) -> None:
        calls.append((text, n))
        if text == "bad":
            raise ValueError(text)

    assert odd("a") is odd("a") is None
    odd("a", n=1)
    odd("a", n=1)
    for _ in range(2):
        with pytest.raises(ValueError, match="bad"):
            odd("bad")
    assert calls == [("a", 0), ("a", 1), ("bad", 0), ("bad", 0)]


def test_each_text_is_split_and_windowed_once(monkeypatch):
    split, cut = Counted(split_anew), Counted(passages.passages)
    monkeypatch.setattr(sentences, "split_anew", split)
    monkeypatch.setattr(passages, "passages", cut)
    text = "The tower was built in 1907. Ada Stone drew it. " * 60
    for _ in range(100):
        found = windows("".join(text))
        found.clear()  # a list of one's own
        split_sentences(text).clear()
        windows(text, 300)
    assert split.calls == {(text,): 1} and cut.calls == {(text, 1200): 1, (text, 300): 1}
    assert windows(text) == passages.passages(text) and split_sentences(text) == split_anew(text)


def test_what_is_kept_is_what_is_made_anew():
    text = "Ada Stone (1815-1852) drew it. “It is so,” she said. Nobody knew."
    assert list(words_of(text)) == words(text) and words_of(text) is words_of(text)
    assert plain_words(text) == {w.lower() for w in words(text) if w[0].isalnum()}
    pair = ("Ada drew it.", text)
    assert candidates(pair) is candidates(pair) and rarity_in(pair) is rarity_in(pair)
    assert candidates(pair).place(words("Nobody knew")) == 1
    assert verbatim(text) is verbatim(text) and verbatim(text).find(["it is so"]) == (32, 40)


@pytest.mark.parametrize(
    ("statement", "passage", "same"),
    [
        ("Lumo was founded in Leeds.", "Lumo has its head office in Berlin.", False),
        ("Ann died in 1997.", "Ann (8 September 1907 - 27 November 1997) sang.", True),
        ("Ann (8 September 1907 - 27 November 1997) sang.", "Ann died in 1997.", False),
        ("Ann Stone sang.", "A stone fell. Ann left.", True),  # no name, as it has a small letter
        ("Ann Stone fell.", "Ann Stone left.", False),
        ("In 1907.", "Ann left.", True),
        ("Ann left.", "", True),
        ("Ann is a singer.", "Ann was the queen.", True),
        ("北京在中国。", "上海在中国。", True),
    ],
)
def test_a_passage_is_about_the_same_matter_as_before(statement, passage, same):
    for _ in range(2):
        assert same_matter(statement, passage) is same


def test_nothing_grows_over_ever_new_texts(monkeypatch):
    monkeypatch.setattr(TEXTS, "most", 20_000)
    for i in range(500):
        text = f"Town {i} lies by the river. It was founded in {i}. " * 5
        windows(text)
        candidates((text, "x"))
        same_matter(text, f"It is town {i}.")
        assert 0 < TEXTS.held <= 20_000
    assert sum(size for _, size in TEXTS._entries.values()) == TEXTS.held
    long = "It is so. " * 5_000
    assert len(windows(long)) > 40 and TEXTS.held <= 20_000


@pytest.mark.parametrize(
    "text",
    [
        "[" + "1, " * 3_000 + "1]",
        "a,b,c\n" + "1,2,3\n" * 1_000,
        json.dumps([{"name": f"Item {i}", "price": i} for i in range(300)]),
        "The ferry leaves at noon. " * 300,
    ],
    ids=["list", "table", "objects", "prose"],
)
@pytest.mark.parametrize("make", [read_structure, answer_units, source_pieces])
def test_memory_is_bounded_by_what_counts(make: Callable[[str], object], text: str) -> None:
    make(text)  # what is made once
    TEXTS.clear()
    gc.collect()
    tracemalloc.start()
    make(text)
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size <= 1_000 + 20 * TEXTS.held


def test_threads_share_it(monkeypatch):
    monkeypatch.setattr(TEXTS, "most", 3_000)
    texts = [f"Town {i} lies by the river. It was founded in {i}." for i in range(40)]
    expected = [split_anew(text) for text in texts]
    wrong = []

    def read(start):
        for i in range(start, start + 2_000):
            if split_sentences(texts[i * 7 % 40]) != expected[i * 7 % 40]:
                wrong.append(i)

    threads = [threading.Thread(target=read, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and TEXTS.held <= 3_000
    assert sum(size for _, size in TEXTS._entries.values()) == TEXTS.held


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_that_finds_it_in_use_does_not_wait():
    taken, done = threading.Event(), threading.Event()

    def hold():
        with memo._lock:
            taken.set()
            done.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    taken.wait(60)
    child = os.fork()
    if not child:
        os._exit(0 if len(split_sentences("It is so. It was so.")) == 2 else 1)
    done.set()
    holder.join()
    assert os.waitpid(child, 0)[1] == 0
