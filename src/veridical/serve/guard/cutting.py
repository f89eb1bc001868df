"""Sentence splitting of a growing text."""

from __future__ import annotations

from veridical.text.sentences import split_anew

#: Characters of an unfinished sentence from which it is examined less often.
_LONG = 4_000
_STEP = 256
#: Maximum characters of a piece without a sentence end.
LONGEST = 20_000


class Cutter:
    """Splitter of a growing text into sentences, each with the white space before it.

    A sentence is final as soon as the splitter has seen the next one begin, or at the end. The
    pieces depend only on the text, not on its chunks, and joined they are the text.
    """

    def __init__(self) -> None:
        self._text = ""
        self._seen = 0

    @property
    def pending(self) -> str:
        """Return the text that is not split off yet."""
        return self._text

    def feed(self, more: str) -> list[str]:
        """Add text; return the pieces that are final with it."""
        self._text += more
        pieces = []
        while self._seen < len(self._text):
            at = self._seen
            self._seen += 1
            if not self._begins(at):
                continue
            piece = self._first(self._text[: at + 1])
            if piece is not None:
                pieces.append(piece)
                self._text = self._text[len(piece) :]
                self._seen = 0
        return pieces

    def end(self) -> list[str]:
        """Return the remaining pieces."""
        text, self._text, self._seen = self._text, "", 0
        pieces, at = [], 0
        for span in split_anew(text):
            pieces.append(text[at : span.end])
            at = span.end
        return [*pieces, text[at:]] if at < len(text) else pieces

    def _begins(self, at: int) -> bool:
        """Return True if a sentence may begin at this character: no word character precedes it."""
        if at >= LONGEST:
            return True
        text = self._text
        if at == 0 or text[at].isspace() or text[at - 1].isalnum():
            return False
        return at < _LONG or at % _STEP == 0

    def _first(self, text: str) -> str | None:
        spans = split_anew(text)
        if len(spans) > 1:
            return text[: spans[0].end]
        return text if len(text) > LONGEST else None
