"""Code in answers: code blocks, and tokens without comments.

It is never run.
"""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

#: Languages whose comments, strings and keywords are known.
Language = Literal["python", "java", "javascript", "c", "sql"]

_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[^\s`]*)")
_C_LIKE = r"//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)"
_QUOTED = r"\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?"
_TRIPLE = r"\"\"\"(?:\\[\s\S]|[^\\])*?(?:\"\"\"|\Z)|'''(?:\\[\s\S]|[^\\])*?(?:'''|\Z)"
_OTHERS = (
    r"\d(?:[eE][+-]|[\w.])*|\w+"
    r"|\*\*=?|//=?|<<=?|>>>?=?|[-=]>|===?|!==?|<>|\+\+|--|&&|\|\||::|:=|[-+*/%&|^<>]=?|\S"
)


@dataclass(frozen=True)
class _Grammar:
    """Token rules of a language.

    Attributes:
        names: names after the fence of a code block.
        layout: line breaks and indentation are tokens.
        folded: case does not matter outside of strings.
    """

    names: frozenset[str]
    comments: str
    strings: str
    keywords: frozenset[str]
    layout: bool = False
    folded: bool = False
    scanner: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        layout = r"(?P<layout>\n\s*)|" if self.layout else ""
        scanner = (
            f"(?P<comment>{self.comments})|(?P<string>{self.strings})|{layout}(?P<other>{_OTHERS})"
        )
        object.__setattr__(self, "scanner", re.compile(scanner))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_GRAMMARS: dict[Language, _Grammar] = {
    "python": _Grammar(
        _words("python py python3 py3"),
        r"#[^\n]*",
        f"{_TRIPLE}|{_QUOTED}",
        frozenset(keyword.kwlist),
        layout=True,
    ),
    "java": _Grammar(
        _words("java"),
        _C_LIKE,
        f"{_TRIPLE}|{_QUOTED}",
        _words(
            "abstract assert boolean break byte case catch char class const continue default do "
            "double else enum extends final finally float for goto if implements import instanceof "
            "int interface long native new package private protected public return short static "
            "strictfp super switch synchronized this throw throws transient try void volatile while"
        ),
    ),
    "javascript": _Grammar(
        _words("javascript js jsx typescript ts tsx"),
        _C_LIKE,
        rf"{_QUOTED}|`(?:\\[\s\S]|[^`\\])*`?",
        _words(
            "async await break case catch class const continue debugger default delete do else "
            "enum export extends finally for function if import in instanceof let new of return "
            "static super switch this throw try typeof var void while with yield"
        ),
    ),
    "c": _Grammar(
        _words("c h cpp c++ cc cxx hpp"),
        _C_LIKE,
        _QUOTED,
        _words(
            "auto break case char class const continue default delete do double else enum extern "
            "float for goto if inline int long namespace new private protected public register "
            "restrict return short signed sizeof static struct switch template this throw try "
            "typedef typename union unsigned using virtual void volatile while"
        ),
    ),
    "sql": _Grammar(
        _words("sql sqlite postgres postgresql mysql plsql tsql"),
        r"--[^\n]*|/\*[\s\S]*?(?:\*/|\Z)",
        r"'(?:''|[^'])*'?|\"(?:\"\"|[^\"])*\"?|`[^`]*`?",
        _words(
            "all alter and any as asc between by case cast create cross current delete desc "
            "distinct drop else end except exists from full group having in inner insert intersect "
            "into is join left like limit natural not null offset on or order outer over partition "
            "primary recursive references right row select set table then union unique update "
            "using values view when where window with"
        ),
        folded=True,
    ),
}


def code_of(text: str, language: Language) -> str:
    """Return the code in ``text``: its joined fenced blocks, else all of it.

    Of several blocks, those marked with the language count; if there are no such blocks, those
    without a mark; else all.
    """
    blocks = _blocks(text)
    if not blocks:
        return text
    names = _GRAMMARS[language].names
    marked = [code for name, code in blocks if name in names]
    bare = [code for name, code in blocks if not name]
    return "\n".join(marked or bare or [code for _, code in blocks])


def _blocks(text: str) -> list[tuple[str, str]]:
    """Fenced blocks: what they are marked as, and their content. An open one ends with the text."""
    blocks: list[tuple[str, str]] = []
    fence, name, lines = "", "", [""]
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if not fence:
            if found:
                fence, name, lines = found["fence"], found["language"].lower().strip("{}."), []
        elif found and found["fence"].startswith(fence) and not line.strip(" \t\r" + fence[0]):
            blocks.append((name, "\n".join(lines)))
            fence = ""
        else:
            lines.append(line)
    if fence:
        blocks.append((name, "\n".join(lines)))
    return blocks


@cache
def keywords(language: Language) -> frozenset[str]:
    """Reserved words, in lower case where case does not matter."""
    return _GRAMMARS[language].keywords


def code_tokens(code: str, language: Language) -> list[str]:
    """Return the tokens in order, without comments and white space; a string is one token.

    Words of a case-insensitive language are in lower case.
    """
    return _tokens(code, language, layout=False)


def token_form(code: str, language: Language) -> str:
    """Return a text that is equal for codes that differ only in comments and white space.

    If layout is syntax, line breaks and indentation count. Empty if there is nothing else.
    """
    tokens = _tokens(code, language, layout=True)
    while tokens and tokens[-1].isspace():
        tokens.pop()
    return "\0".join(tokens)


def _tokens(code: str, language: Language, *, layout: bool) -> list[str]:
    grammar = _GRAMMARS[language]
    tokens: list[str] = []
    for found in grammar.scanner.finditer(code.replace("\r\n", "\n").replace("\r", "\n")):
        token = found[0]
        if found.lastgroup == "comment":
            continue
        if found.lastgroup == "layout":
            if not layout or not tokens:
                continue
            token = "\n" + token.rpartition("\n")[2]  # blank lines say nothing
            if tokens[-1].isspace():
                tokens.pop()
        elif grammar.folded and found.lastgroup == "other":
            token = token.lower()
        tokens.append(token)
    return tokens
