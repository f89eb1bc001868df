"""Supported parts of claims: claims without the words their sources lack."""

from __future__ import annotations

import re
from collections.abc import Sequence

_BEGINS = re.compile(
    r"(?:in|on|at|by|from|for|with|after|before|during|since|until|near|through|throughout|under"
    r"|against|alongside|despite|following|including|while|when|as|where|who|which|to|of)$",
    re.IGNORECASE,
)
#: A claim cannot end, nor go on at a full stop, with one of these.
_OPEN = re.compile(
    r"(?:in|on|at|by|from|for|with|of|to|the|a|an|and|or|but|is|was|are|were|be|been|as|that|who"
    r"|which|its|his|her|their|than|has|had|have|not|into|about|over|,|:|;|-|\()$",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"\b(?:is|was|are|were|has|had|have|[a-z]{2,}ed|won|wrote|made|became|began|took|led|left"
    r"|held|ran|said|sold|built|gave|came|went|met|lost|found|bought|brought|sang|told|drew|grew"
    r"|knew|spoke|stood|fell|rose|chose|wore|beat|cut|put|set|paid|sent|spent|taught|caught"
    r"|thought|saw|got|sat|fought|includes|contains|features)\b"
)
_DETERMINER = re.compile(r"(?:the|a|an|his|her|its|their|this|over|\d[\d,]*)$", re.IGNORECASE)
_BE = {"is", "was", "are", "were", "be", "been"}
LEAST_WORDS = 4


def detokenised(tokens: Sequence[str]) -> str:
    """Return tokens as text, with the usual spacing of English punctuation."""
    text = " ".join(tokens)
    text = re.sub(r" ([,.;:?!)%\]])", r"\1", text)
    text = re.sub(r"([(\[$£€]) ", r"\1", text)
    text = re.sub(r" ('s|n't|'re|'ve|'d|'ll|')(?= |$|[,.])", r"\1", text)
    text = re.sub(r"(?<=\w) ([-/–]) (?=\w)", r"\1", text)
    return re.sub(r'" ([^"]*?) "', r'"\1"', text).strip()


def _runs(flags: Sequence[bool]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for i, flag in enumerate(flags):
        if flag and runs and runs[-1][1] == i:
            runs[-1] = (runs[-1][0], i + 1)
        elif flag:
            runs.append((i, i + 1))
    return runs


def supported_part(tokens: Sequence[str], unsupported: Sequence[bool]) -> str | None:
    """Return a claim without its unsupported words, or None where no rule leaves a sentence.

    Removed are an opening up to a comma, a final prepositional phrase, and one or two words between
    a determiner and a noun.
    """
    flags = list(unsupported)
    if len(tokens) != len(flags) or not any(flags) or tokens[-1] != ".":
        return None
    flags[-1] = False
    for i in range(1, len(tokens) - 1):  # a comma or an article between what goes, goes too
        if flags[i - 1] and flags[i + 1] and tokens[i] in (",", "and", "the", "of", "'s", "-"):
            flags[i] = True
    gone = set()
    for start, end in _runs(flags):
        after = tokens[end]
        if start == 0 and after == "," and _BEGINS.match(tokens[0]):
            gone |= set(range(start, end + 1))
        elif after == "." and end == len(tokens) - 1:
            first = start
            if not _BEGINS.match(tokens[first]):
                back = [i for i in range(max(0, start - 3), start) if _BEGINS.match(tokens[i])]
                if not back:
                    return None
                first = back[-1]
            if first and tokens[first - 1] == ",":
                first -= 1
            gone |= set(range(first, end))
        elif (
            end - start <= 2
            and start > 0
            and _DETERMINER.match(tokens[start - 1])
            and re.match(r"[a-z]{3,}$", after)
            and not _OPEN.match(after)
            and not any(t in (",", ".") for t in tokens[start:end])
        ):
            gone |= set(range(start, end))
        else:
            return None
    kept = [t for i, t in enumerate(tokens) if i not in gone]
    if len(kept) - 1 < LEAST_WORDS or _OPEN.match(kept[-2]) or kept[-3] in _BE:
        return None  # "It was released." says too little
    text = detokenised(kept)
    text = re.sub(r"\b([Aa])n (?=[bcdfgjklmnpqrstvwxyz])", r"\1 ", text)
    even = text.count('"') % 2 == 0 and text.count("(") == text.count(")")
    if not _VERB.search(" ".join(kept[1:-1])) or not even:
        return None
    return text[:1].upper() + text[1:]
