"""Text of web pages, by the standard library's parser."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

from veridical.retrieval.corpus.files import fit

#: Elements whose content is not text of the page.
_HIDDEN = frozenset({"script", "style", "template", "noscript", "svg", "select"})
#: Elements that begin and end a paragraph.
_BLOCKS = frozenset(
    {
        *("address", "article", "aside", "blockquote", "body", "caption", "dd", "details"),
        *("dialog", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form"),
        *("h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html", "li", "main", "nav"),
        *("ol", "p", "pre", "section", "summary", "table", "tbody", "tfoot", "thead", "tr", "ul"),
    }
)
_CELLS = frozenset({"td", "th"})
_SPACE = re.compile(r"[ \t\r\n\f]+")
#: Openings and their ends; without an end the parser would scan to the end of the page each time.
_OPENINGS = (("<", ">"), ("<!--", "-->"), ("<![", "]>"))


class _Text(HTMLParser):
    """A collector of paragraphs, with white space as a browser shows it."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title: list[str] = []
        self.paragraphs: list[str] = []
        self._line: list[str] = []
        self._hidden: list[str] = []
        self._open: Counter[str] = Counter()
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self._hidden.append(tag)
            self._open[tag] += 1
        elif tag == "title" and not self.title and not self._hidden:
            self._in_title = True
        elif tag in _BLOCKS:
            self.end()
        elif tag == "br":
            self._line.append("\v")
        elif tag in _CELLS:
            self._line.append(" ")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _HIDDEN:  # <svg/> has no content
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if self._open[tag]:
            # elements left open inside it end with it
            del self._hidden[self._hidden.index(tag) :]
            self._open = Counter(self._hidden)
        elif tag == "title":
            self._in_title = False
        elif tag in _BLOCKS:
            self.end()
        elif tag in _CELLS:
            self._line.append(" ")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
        elif not self._hidden:
            self._line.append(data)

    def parse_marked_section(self, i: int, report: int = 1) -> int:
        """Return the end of ``<![...]>``, most of which the library rejects."""
        end = self.rawdata.find("]>", i)
        return end + 2 if end >= 0 else self.parse_bogus_comment(i)

    def end(self) -> None:
        """End the paragraph."""
        lines = (_SPACE.sub(" ", part).strip(" ") for part in "".join(self._line).split("\v"))
        paragraph = "\n".join(line for line in lines if line)
        if paragraph:
            self.paragraphs.append(paragraph)
        self._line = []


def _closable(markup: str) -> str:
    """Escape openings in ``markup`` that have no end."""
    for opening, end in _OPENINGS:
        last = markup.rfind(end) + 1
        if opening in markup[last:]:
            markup = markup[:last] + markup[last:].replace(opening, f"&lt;{opening[1:]}")
    return markup


def read_html(markup: str) -> tuple[str, str]:
    """Return the title and text of a page.

    Paragraphs, list items, rows and headings are separated by blank lines; content that a browser
    does not show as text is skipped.

    >>> read_html("<title>A</title><h1>Ada</h1><p>She <b>wrote</b>.<script>1</script>")
    ('A', 'Ada\\n\\nShe wrote.')
    """
    parser = _Text()
    parser.feed(_closable(markup))
    parser.close()
    parser.end()
    title = _SPACE.sub(" ", "".join(parser.title)).strip()
    text = "\n\n".join(parser.paragraphs)
    return fit(title), fit(text)  # a character reference may give any character
