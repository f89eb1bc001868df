"""Verbatim copies of statements in a text.

Whole sentences, lines, list items and coordinated clauses are compared. Case, white space,
quotation marks, dashes, markup and the final full stop are ignored. Text that is only quoted,
questioned, supposed or denied by a neighbouring sentence does not count.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from veridical.text.citations import without_markers
from veridical.text.memo import kept
from veridical.text.readable import readable
from veridical.text.sentences import split_sentences
from veridical.text.statement_words import AUXILIARIES, DETERMINERS, is_clearly_finite, is_finite
from veridical.text.statements import is_sentence


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_SAME = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′`´", "'"),
        **dict.fromkeys("“”„‟«»″", '"'),
        **dict.fromkeys("‐‑‒–—−", "-"),
    }
)
_MARKUP = re.compile(
    r"^\s{0,9}(?:(?:#{1,6}|[-*+•‣▪◦●>|]|\(?\d{1,3}[.)])\s{1,4}){0,3}|\*\*|__|`{1,3}"
    r"|(?<![\w*])\*(?=\w)|(?<=[\w.,!?])\*(?![\w*])|(?<!\w)_(?=\w)|(?<=[\w.,!?])_(?!\w)"
)
_LINK = re.compile(r"\[([^\[\]\n]{1,200})\]\([^()\s]{1,500}\)")
_EDGES = " \t\r\n.!;,\"'"
_LIST_ITEM = re.compile(r"\s{0,40}(?:[-*+•‣▪◦●–—>]|\(?(?:\d{1,3}|[A-Za-z])[.)])\s")
#: Ends of a clause after which the text before it is also asserted.
_BOUNDARY = re.compile(r";\s|,? (?:and|but|while|whereas) (?=(\w[\w'’-]{0,30})\b)")
#: Junctions of two clauses in a statement.
_JOINT = re.compile(r"; |, and (?=\w+ \w)")
_DEPENDS = re.compile(
    r"\b(?:if|unless|except|only|provided|when|until|whether|either|neither|nor|without|before|"
    r"after|should|would|suppose|imagine|however|otherwise|instead)\b"
)
_FALSE = re.compile(
    r"\b(?:myths?|false|untrue|incorrect|wrong|rumou?rs?|hoax|misconceptions?|mistaken(?:ly)?|"
    r"alleged(?:ly)?|claim(?:s|ed)?|believ(?:e|es|ed)|pretend\w*|suppose\w*|imagine|hypothe\w+|"
    r"not (?:true|the case|so|correct|right)|no longer|denied|denies|refuted|debunked|formerly|"
    r"outdated|deprecated|obsolete|used to)\b"
)
#: Qualifications in the head of a list that its items do not repeat.
_RESTRICTS = re.compile(
    rf"{_FALSE.pattern}|\b(?:examples?|draft|if|unless|when|not|no|never|except\w*|exclu\w+|"
    r"forbidden|prohibited|avoid|don't|cannot|without|neither|questions?)\b"
)
_DENIED_AFTER = re.compile(
    r"(?:but )?(?:this|that|it|these|those|which|all of (?:this|that)|both|neither)(?: \w+)? "
    r"(?:is|was|are|were|turned out|proved|isn't|wasn't|has been|no longer)\b.{0,40}?"
    r"\b(?:false|untrue|incorrect|wrong|myth|not true|not the case|not so|not correct|rumou?r|hoax|"
    r"denied|refuted|mistaken|no longer|misconception|nonsense|debunked|retracted|outdated)\b"
    r"|(?:no|not true|false|wrong|incorrect|nonsense)\b\s?[.,:!]"
)
_MAX_STATEMENT_CHARACTERS = 2_000
_MAX_DENIAL_CHARACTERS = 300  # of a sentence that denies a neighbour


def folded(text: str) -> str:
    """Normalise a text for comparison.

    >>> folded("- **The  Museum** opens “at ten”.") == folded('the museum opens "at ten"')
    True
    """
    text = _LINK.sub(r"\1", text) if "](" in text else text
    text = unicodedata.normalize("NFKC", text).translate(_SAME)
    text = _MARKUP.sub("", text).replace('"', "").replace("\\", "")
    return " ".join(text.casefold().split()).strip(_EDGES)


def is_copy(statement: str, passage: str) -> bool:
    """Return True if ``passage`` states ``statement`` word for word.

    >>> text = "Dogs are welcome; cats stay outside. It is not true that entry is free."
    >>> is_copy("Cats stay outside.", text), is_copy("Entry is free.", text)
    (True, False)
    """
    if len(statement) > _MAX_STATEMENT_CHARACTERS:
        return False
    key = folded(statement)
    if not any(map(str.isalnum, key)):
        return False
    stated = _stated_in(passage)
    if key in stated:
        return True
    parts = _JOINT.split(statement)
    return len(parts) > 1 and all(is_sentence(p) and folded(p) in stated for p in parts)


def is_whole(statement: str, passage: str) -> bool:
    """Return True if the two texts are equal after normalisation."""
    return abs(len(statement) - len(passage)) < _MAX_DENIAL_CHARACTERS and folded(
        statement
    ) == folded(passage)


@kept
def _stated_in(passage: str) -> frozenset[str]:
    whole = folded(readable(passage)) if len(passage) <= _MAX_STATEMENT_CHARACTERS else ""
    return frozenset(filter(None, [whole, *_pieces(readable(passage))]))


def _pieces(passage: str) -> Iterator[str]:
    """Yield the normalised statements of a passage."""
    sentences = split_sentences(passage)
    texts = [s.text for s in sentences]
    head = ""  # of a list, which qualifies its items
    for i, text in enumerate(texts):
        before = texts[i - 1][-_MAX_DENIAL_CHARACTERS:].lower() if i else ""
        after = texts[i + 1][:_MAX_DENIAL_CHARACTERS].lower() if i + 1 < len(texts) else ""
        if text.rstrip("*_ ").endswith((":", "：")) or text.lstrip().startswith("#"):
            head = text[-_MAX_DENIAL_CHARACTERS:].lower()
        elif not _LIST_ITEM.match(text):
            head = head if before and before.rstrip("*_ ").endswith((":", "：")) else ""
        if _RESTRICTS.search(head) and text[-_MAX_DENIAL_CHARACTERS:].lower() != head:
            continue
        if _announces_falsehood(before) or _DENIED_AFTER.match(after):
            continue
        yield from _of_sentence(without_markers(text))


def _announces_falsehood(before: str) -> bool:
    """Return True if the sentence before introduces something false."""
    ends = before.rstrip("*_ \"'").endswith((":", "："))
    return ends and _RESTRICTS.search(before) is not None


def _of_sentence(text: str) -> Iterator[str]:
    yield folded(text)
    lines = text.split("\n") if "\n" in text else ()
    for line in lines:
        yield folded(line)
    if len(text) > _MAX_STATEMENT_CHARACTERS or text.rstrip().endswith("?"):
        return
    low = text.lower()
    if _DEPENDS.search(low) or _FALSE.search(low) or '"' in text or "“" in text or ":" in text:
        return
    start = 0
    for cut in _BOUNDARY.finditer(text):
        word = (cut[1] or "").lower()
        rest = text[cut.end() :]
        if cut[0].startswith(";"):
            yield folded(text[start : cut.start()])
            start = cut.end()
        elif _begins_clause(word, rest) and is_sentence(text[start : cut.start()]):
            yield folded(text[start : cut.start()])
            if is_sentence(rest) and not _begins_verb(word):
                start = cut.end()
    if start:
        yield folded(text[start:])


def _begins_clause(word: str, rest: str) -> bool:
    return _begins_verb(word) or (not word.isdigit() and word in _SUBJECTS and is_sentence(rest))


def _begins_verb(word: str) -> bool:
    return word in AUXILIARIES or is_clearly_finite(word) or is_finite(word)


_SUBJECTS = DETERMINERS | _set("i you he she it we they there ")
