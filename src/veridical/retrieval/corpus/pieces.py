"""A document in passages that are short enough to be found and read by themselves."""

from __future__ import annotations

from collections.abc import Iterator

from veridical.text.passages import passages

#: Code points of a passage of whole sentences. A single longer sentence is cut past the double.
SIZE = 1000
#: Documents are split into sentences by parts of this many code points: the time it takes grows
#: faster than the text.
_PART = 100_000


def pieces(text: str, size: int = SIZE) -> Iterator[tuple[int, int]]:
    """Start and end of passages that together hold every sentence of ``text``, in order.

    They are those of :func:`veridical.text.passages.passages`, but that what is longer than
    ``2 size``, such as a table without a full stop, is cut at white space, or anywhere if there
    is none.
    """
    for first, last in _parts(text):
        for passage in passages(text[first:last], size):
            start, end = first + passage.start, first + passage.end
            while end - start > 2 * size:
                cut = _cut(text, start, size)
                yield start, cut
                start = cut
                while text[start].isspace():  # the passage's end is none
                    start += 1
            yield start, end


def _parts(text: str) -> Iterator[tuple[int, int]]:
    """Runs that end at a blank line where there is one."""
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
    """The last place before ``start + size`` after which white space stands."""
    end = start + size
    while end > start + size // 2 and not text[end].isspace():
        end -= 1
    return end if text[end].isspace() else start + size
