"""Splitting of documents into passages."""

from __future__ import annotations

from collections.abc import Iterator

from veridical.text.passages import passages

#: Code points of a passage of whole sentences. A single sentence is split beyond twice that.
SIZE = 1000
#: Code points of the parts in which documents are split into sentences, as the time grows faster
#: than the text.
_PART = 100_000


def pieces(text: str, size: int = SIZE) -> Iterator[tuple[int, int]]:
    """Yield start and end of passages that together cover every sentence of ``text``.

    They are those of :func:`veridical.text.passages.passages`. Anything longer than ``2 size``,
    such as a table without a full stop, is split at white space, or anywhere without it.
    """
    for first, last in _parts(text):
        for passage in passages(text[first:last], size):
            start, end = first + passage.start, first + passage.end
            while end - start > 2 * size:
                cut = _cut(text, start, size)
                yield start, cut
                start = cut
                while text[start].isspace():  # the end of the passage is not white space
                    start += 1
            yield start, end


def _parts(text: str) -> Iterator[tuple[int, int]]:
    """Yield parts that end at a blank line if there is one."""
    start = 0
    while len(text) - start > _PART:
        end = text.rfind("\n\n", start + _PART // 2, start + _PART) + 2
        if end < 2:
            end = text.rfind("\n", start + _PART // 2, start + _PART) + 1
        if end < 1:
            end = _cut(text, start, _PART)
        yield start, end
        start = end
    yield start, len(text)


def _cut(text: str, start: int, size: int) -> int:
    """Return the last place before ``start + size`` that is followed by white space."""
    end = start + size
    while end > start + size // 2 and not text[end].isspace():
        end -= 1
    return end if text[end].isspace() else start + size
