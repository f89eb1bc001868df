"""Exact places of a language model's tokens in its text.

APIs and tokenizers represent tokens in several ways. Each way is tried on the whole list, the
simplest first, and must spell the text to its last character.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple, TypeAlias

from veridical.errors import VeridicalError

#: An escaped byte, in OpenAI's form of tokens that are not whole characters.
_ESCAPE = re.compile(r"\\x([0-9a-fA-F]{2})")
#: A byte in SentencePiece's form.
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
#: Marks of the beginning or the end that are not part of a text: <s>, <|im_end|>, [EOS].
_SPECIAL = re.compile(r"<[^<>\s]{1,64}>|\[[A-Z]{2,12}\]")
_LOST = "\ufffd"  # a server's replacement of undecodable bytes
_MAX_SHOWN_CHARACTERS = 24  # of a text or token in an error
#: Bytes at a text's end that no token may spell: the whole characters of one token.
_MAX_UNSPELLED_BYTES = 6
_MAX_SEARCH_STEPS = 2_000  # in placing lost characters


class MisalignedTokens(VeridicalError):
    """Mismatch of tokens and text; the message names the first difference."""


class TokenSpan(NamedTuple):
    """The span ``text[start:end]`` of the token at ``place`` of the list.

    A character with bytes in several tokens belongs entirely to each of them.
    """

    place: int
    start: int
    end: int


class _Run(NamedTuple):
    """A known piece, or a number of lost ones."""

    literal: str | None
    pieces: int


def token_spans(tokens: Sequence[str], text: str) -> list[TokenSpan]:
    """Return the spans of the tokens that take part in ``text``, in order.

    Together they cover all of it, except an end that no token spells. A server that stops within
    a character drops the token, but the text keeps the part of that token before the cut. This part
    is white space, or characters beyond ASCII, whose bytes tokenizers join across characters.

    Supported are:

    - plain strings
    - ``\\xNN`` escapes, with or without ``bytes:`` before them
    - byte-level BPE pieces ("Ġthe")
    - SentencePiece pieces ("▁the", "<0xE2>")
    - strings with U+FFFD, or nothing, for characters that are spread over several tokens

    At both ends of the list, stripped white space, empty tokens and special tokens such as
    ``<|im_end|>`` are skipped. Inside, empty tokens without a part of a character are skipped. A
    partly stripped token covers the rest.

    Raises:
        MisalignedTokens: the tokens spell another text.
    """
    if "".join(tokens) == text:
        return _of_lengths(tokens)
    goal = text.encode("utf-8", "surrogatepass")
    ways = []
    for read in (_plain, _escaped, _byte_level, _sentence_piece):
        spelled = [p for p in map(read, tokens) if p is not None]
        if len(spelled) == len(tokens):
            ways.append(spelled)
    misses = []
    for spelled in ways:
        placed = _place(tokens, spelled, goal)
        if isinstance(placed, list):
            return _of_bytes(placed, goal)
        misses.append(placed)
    if any(_LOST in token or not token for token in tokens):
        lost = _place_lost(tokens, text)
        if lost is not None:
            return lost
    for spelled in ways:
        placed = _place(tokens, spelled, goal, cut=True)
        if isinstance(placed, list):
            return _of_bytes(placed, goal)
    raise _difference(max(misses, key=lambda miss: miss[0]), goal, len(tokens))


def _of_lengths(tokens: Sequence[str]) -> list[TokenSpan]:
    """Place tokens that are consecutive parts of the text.

    Empty ones before a character of several bytes are its first bytes, which the server held back;
    others are skipped.
    """
    spans = []
    at, held = 0, 0
    for i, token in enumerate(tokens):
        if not token:
            held += 1
            continue
        bytes_before = len(token[0].encode("utf-8", "surrogatepass")) - 1
        for place in range(i - min(held, bytes_before), i):
            spans.append(TokenSpan(place, at, at + 1))
        spans.append(TokenSpan(i, at, at + len(token)))
        at += len(token)
        held = 0
    return spans


def _plain(token: str) -> bytes | None:
    return token.encode("utf-8", "surrogatepass")


def _escaped(token: str) -> bytes | None:
    token = token.removeprefix("bytes:")
    parts = _ESCAPE.split(token)  # text, hex, text, hex, ..., text
    return b"".join(
        bytes.fromhex(part) if i % 2 else part.encode("utf-8", "surrogatepass")
        for i, part in enumerate(parts)
    )


def _sentence_piece(token: str) -> bytes | None:
    byte = _BYTE.fullmatch(token)
    if byte:
        return bytes.fromhex(byte[1])
    return token.replace("▁", " ").encode("utf-8", "surrogatepass")


@cache
def _byte_of() -> dict[str, int]:
    """Return GPT-2's byte characters: printable bytes are themselves, the others U+0100 on."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = [b for b in range(256) if b not in printable]
    return {chr(b): b for b in printable} | {chr(256 + i): b for i, b in enumerate(others)}


def _byte_level(token: str) -> bytes | None:
    table = _byte_of()
    if all(c in table for c in token):
        return bytes(table[c] for c in token)
    return _plain(token) if _SPECIAL.fullmatch(token) else None


Miss = tuple[int, int, str]  # bytes spelled, token's index, its text


def _place(
    tokens: Sequence[str], pieces: Sequence[bytes], goal: bytes, *, cut: bool = False
) -> list[tuple[int, int, int]] | Miss:
    """Return (index, start, end) in bytes of each token of ``goal``, or the first difference.

    Args:
        cut: allow an end of ``goal`` that a dropped token may have spelled.
    """
    placed: list[tuple[int, int, int]] = []
    at = 0
    for i, (token, piece) in enumerate(zip(tokens, pieces, strict=True)):
        raw = token.encode("utf-8", "surrogatepass")
        if not piece:
            continue
        # a literal escape is tried after the text itself
        said = next((p for p in (raw, piece) if goal.startswith(p, at)), None)
        if said is not None:
            placed.append((i, at, at + len(said)))
            at += len(said)
        elif at == len(goal):
            if piece.strip() and not _SPECIAL.fullmatch(token.strip()):
                return at, i, token
        elif not placed and (not piece.strip() or _SPECIAL.fullmatch(token.strip())):
            continue
        elif not placed and goal.startswith(piece.lstrip()):
            placed.append((i, 0, len(piece.lstrip())))
            at = len(piece.lstrip())
        elif goal[at:] == piece.rstrip():
            placed.append((i, at, len(goal)))
            at = len(goal)
        elif not placed and goal == piece.strip():
            placed.append((i, 0, len(goal)))
            at = len(goal)
        else:
            return at + _common(goal[at:], piece), i, token
    end = goal[at:].strip()
    if (goal and not placed) or (end and not (cut and _dropped(end))):
        return at, len(tokens), ""
    return placed


def _dropped(end: bytes) -> bool:
    """Return True if one token that was cut within a character can have begun with ``end``."""
    whole = end[0] & 0xC0 != 0x80
    return whole and min(end) > 127 and len(end) <= _MAX_UNSPELLED_BYTES


def _common(a: bytes, b: bytes) -> int:
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return n


def _of_bytes(placed: list[tuple[int, int, int]], goal: bytes) -> list[TokenSpan]:
    """Convert byte offsets to code points; a split character belongs to both sides."""
    before = [0] * (len(goal) + 1)  # characters begun before each byte
    for i, byte in enumerate(goal):
        before[i + 1] = before[i] + (byte & 0xC0 != 0x80)
    spans = []
    for index, start, end in placed:
        inside = goal[start] & 0xC0 == 0x80  # it continues a character begun before
        spans.append(TokenSpan(index, before[start] - inside, before[end]))
    return spans


def _place_lost(tokens: Sequence[str], text: str) -> list[TokenSpan] | None:
    """Place tokens with characters that a server could not decode.

    A run of U+FFFD and empty tokens represents one or more characters beyond ASCII. Together they
    have at least as many bytes as the run has tokens. The fewest characters that allow the rest to
    match are used.
    """
    first, last = _bounds(tokens, text)
    pieces: list[tuple[int, str | None]] = []  # (token, literal or None if lost)
    for i in range(first, last):
        if not tokens[i]:
            pieces.append((i, None))
        for part in re.split(f"({_LOST}+)", tokens[i]):
            if part:
                pieces.append((i, None if part[0] == _LOST else part))
    runs = _runs(pieces)
    places = _search(runs, text)
    if places is None:
        return None
    covered: list[tuple[int, int]] = []
    for run, (start, end) in zip(runs, places, strict=True):
        covered += [(start, end)] if run.literal else _shares(text, start, end, run.pieces)
    spans: dict[int, TokenSpan] = {}
    for (index, _), (start, end) in zip(pieces, covered, strict=True):
        known = spans.get(index)
        if start < end:
            spans[index] = TokenSpan(index, start if known is None else known.start, end)
    return [spans[i] for i in sorted(spans)]


def _bounds(tokens: Sequence[str], text: str) -> tuple[int, int]:
    """Return the range of tokens without special and stripped ones at both ends."""
    first, last = 0, len(tokens)
    while first < last and (
        _SPECIAL.fullmatch(tokens[first])
        or (tokens[first].isspace() and not text.startswith(tokens[first]))
    ):
        first += 1
    while last > first and (
        _SPECIAL.fullmatch(tokens[last - 1])
        or (tokens[last - 1].isspace() and not text.endswith(tokens[last - 1]))
    ):
        last -= 1
    return first, last


#: One step of a search, and the steps before it: a run covers text[start:end].
_Steps: TypeAlias = "tuple[_Steps | None, int, int]"


def _search(runs: Sequence[_Run], text: str) -> list[tuple[int, int]] | None:
    """Return (start, end) of each run, by depth-first search with short lost runs first."""
    stack: list[tuple[int, int, _Steps | None]] = [(0, 0, None)]  # run, place, steps so far
    for _ in range(_MAX_SEARCH_STEPS + len(runs)):
        if not stack:
            return None
        number, at, steps = stack.pop()
        if number == len(runs):
            if not text[at:].strip():
                return _in_order(steps)
            continue
        literal, pieces = runs[number]
        last = number == len(runs) - 1
        if literal is None:
            for end in reversed(_ends(text, at, pieces, last)):
                stack.append((number + 1, end, (steps, at, end)))
        elif text.startswith(literal, at):
            end = at + len(literal)
            stack.append((number + 1, end, (steps, at, end)))
        elif number == 0 and text.startswith(literal.lstrip()):
            end = len(literal.lstrip())
            stack.append((number + 1, end, (steps, 0, end)))
        elif last and text[at:] == literal.rstrip():
            stack.append((number + 1, len(text), (steps, at, len(text))))
    return None


def _ends(text: str, at: int, pieces: int, last: bool) -> list[int]:
    """Return possible ends of a run of ``pieces`` lost ones that begins at ``at``, nearest
    first.
    """
    ends = []
    size, end = 0, at
    while end < len(text) and ord(text[end]) > 127 and size <= 4 * pieces:
        size += len(text[end].encode("utf-8", "surrogatepass"))
        end += 1
        if size >= pieces:
            ends.append(end)
    # empty tokens at the end have no text
    return [at] if last and not text[at:].strip() else ends


def _in_order(steps: _Steps | None) -> list[tuple[int, int]]:
    backwards: list[tuple[int, int]] = []
    while steps is not None:
        steps, start, end = steps
        backwards.append((start, end))
    return backwards[::-1]


def _runs(pieces: Sequence[tuple[int, str | None]]) -> list[_Run]:
    """Split into single literals and groups of consecutive lost pieces."""
    runs: list[_Run] = []
    for _, literal in pieces:
        if literal is None and runs and runs[-1].literal is None:
            runs[-1] = _Run(None, runs[-1].pieces + 1)
        else:
            runs.append(_Run(literal, 1))
    return runs


def _shares(text: str, start: int, end: int, pieces: int) -> list[tuple[int, int]]:
    """Divide a run's bytes evenly over its pieces, as whole characters."""
    owner: list[int] = []  # the character of each byte
    for i in range(start, end):
        owner += [i] * len(text[i].encode("utf-8", "surrogatepass"))
    if not owner:
        return [(start, start)] * pieces
    cuts = [len(owner) * m // pieces for m in range(pieces + 1)]
    return [(owner[a], owner[b - 1] + 1) for a, b in itertools.pairwise(cuts)]


def _difference(miss: Miss, goal: bytes, n: int) -> MisalignedTokens:
    spelled, index, token = miss
    whole = goal[:spelled].decode("utf-8", "ignore")
    remainder = goal[len(whole.encode("utf-8")) :].decode("utf-8", "replace")
    text = f"the text has {remainder[:_MAX_SHOWN_CHARACTERS]!r}" if remainder else "the text ends"
    said = f"token {index} is {token[:_MAX_SHOWN_CHARACTERS]!r}" if index < n else "the tokens end"
    return MisalignedTokens(
        f"the tokens do not spell the text: at character {len(whole)} {text}, {said}"
    )
