"""Removal of reasoning and special tokens from a model's output.

Reasoning is the content of the tags and channels that models use; special tokens are those of chat
templates. Both are ignored in code (between backticks). All patterns take time linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from veridical.text.memo import kept

_NAMES = (
    r"(?:seed:)?(?:think|thinking|thought|thoughts|reasoning|reason|reflection|analysis|"
    r"scratchpad|inner_?monologue|chain_?of_?thought|cot|begin_of_thought|start_thinking|"
    r"start_of_thought)"
)
_ENDS = r"(?:end_of_thought|end_thinking|end_of_thinking)"
_OPEN = (
    rf"<{_NAMES}(?: [^<>\n]{{0,80}})?>|<\|{_NAMES}\|>|\[{_NAMES}\]|◁think▷|<unused94>(?:thought)?"
)
_CLOSE = rf"</{_NAMES}>|<\|/{_NAMES}\|>|<\|{_ENDS}\|>|\[/{_NAMES}\]|◁/think▷|<unused95>"
_TAG = re.compile(rf"(?P<open>{_OPEN})|(?P<close>{_CLOSE})", re.IGNORECASE)
#: A channel's head; only the final channel, or text in none, is the answer.
_CHANNEL = re.compile(
    r"(?:<\|start\|>[^<\n]{0,40})?<\|channel\|>(?P<name>[^<\n]{0,80})"
    r"(?:<\|constrain\|>[^<\n]{0,20})?<\|message\|>"
)
_CHANNEL_END = re.compile(r"<\|(?:end|return|call|start)\|>")
_STRIPPED = re.compile(r"\s{0,9}analysis(?=[A-Z\"'])")  # channels without their tokens
_STRIPPED_FINAL = "assistantfinal"
_ROLE = r"(?:assistant|model|user|system|bot|ai)?"
_TOKEN = re.compile(
    r"<[|｜][^<>|｜\s]{1,40}[|｜]>(?:(?<=_header_id\|>)|(?<=im_start\|>)|(?<=<\|start\|>))"
    rf"(?:{_ROLE}(?=<\||\n))?"
    r"|<[|｜][^<>|｜\s]{1,40}[|｜]>"
    rf"|<start_of_turn>(?:{_ROLE}(?=\n))?"
    r"|</?s>|<(?:eos|bos|pad|unk|end_of_turn|end_of_utterance|eod|endoftext|EOT|sep|cls)>"
    r"|\[/?INST\]|<</?SYS>>|\[/?(?:EOS|BOS|PAD|SEP|CLS|EOT)\]"
    r"|</?(?:answer|final_answer|final|response|output|result)>",
    re.IGNORECASE,
)
#: An instruction that the output repeats.
_REPEATED = re.compile(r"\[INST\][^\[]{0,20000}\[/INST\]")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]{1,400}`", re.DOTALL)
#: Characters of which the output must have one.
_SIGNS = ("<", "[", "◁", _STRIPPED_FINAL)


@kept
def answer_only(text: str) -> str:
    """Replace reasoning and special tokens in ``text`` by blanks; offsets stay.

    An unclosed block ends with the text, and one opened before the text begins with it. A block
    becomes line ends, so that no sentence extends across it; a token becomes spaces.

    >>> answer_only("<think>Nine?</think>It is ten.</s>").strip()
    'It is ten.'
    """
    if not any(sign in text for sign in _SIGNS):
        return text
    pieces, at = [], 0
    for start, end, blank in _merged(sorted(_cuts(text))):
        pieces += [text[at:start], blank * (end - start)]
        at = end
    return "".join([*pieces, text[at:]]) if pieces else text


def _merged(cuts: list[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    last = 0
    for start, end, blank in cuts:
        if end > last:
            yield max(start, last), end, blank
            last = end


def _cuts(text: str) -> Iterator[tuple[int, int, str]]:
    code = _Inside([m.span() for m in _CODE.finditer(text)] if "`" in text else [])
    if _STRIPPED_FINAL in text and _STRIPPED.match(text):
        yield 0, text.index(_STRIPPED_FINAL) + len(_STRIPPED_FINAL), "\n"
    if text.count("[INST]") == 1 and (repeated := _REPEATED.search(text)):
        yield *repeated.span(), "\n"
    yield from _channels(text)
    yield from _blocks(text, code)
    for m in _TOKEN.finditer(text):
        if m.start() not in code:
            yield m.start(), m.end(), " "


class _Inside:
    """Sorted spans, queried for ascending places."""

    def __init__(self, stretches: list[tuple[int, int]]) -> None:
        self._stretches = stretches
        self._next = 0
        self._last = 0

    def __contains__(self, place: object) -> bool:
        assert isinstance(place, int)
        if place < self._last:
            self._next = 0
        self._last = place
        while self._next < len(self._stretches) and self._stretches[self._next][1] <= place:
            self._next += 1
        return self._next < len(self._stretches) and self._stretches[self._next][0] <= place


def _channels(text: str) -> Iterator[tuple[int, int, str]]:
    heads = list(_CHANNEL.finditer(text)) if "<|channel|>" in text else []
    for n, head in enumerate(heads):
        yield head.start(), head.end(), "\n"
        if head["name"].strip().lower().startswith("final"):
            continue
        following = heads[n + 1].start() if n + 1 < len(heads) else len(text)
        end = _CHANNEL_END.search(text, head.end(), following)
        yield head.end(), end.end() if end else following, "\n"


def _blocks(text: str, code: _Inside) -> Iterator[tuple[int, int, str]]:
    opened, depth, closed = -1, 0, False
    for m in _TAG.finditer(text):
        if m.start() in code:
            continue
        if m["open"]:
            opened = m.start() if depth == 0 else opened
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                yield opened, m.end(), "\n"
                closed = True
        else:
            # opened before the text, as templates do; after a block the tag is stray
            yield (m.start() if closed else 0), m.end(), "\n"
            closed = True
    if not depth:
        return
    before = text[text.rfind("\n", 0, opened) + 1 : opened]
    if closed or not any(map(str.isalnum, _TOKEN.sub("", before))):
        yield opened, len(text), "\n"  # at the start of a line
    else:
        yield opened, text.find(">" if text[opened] == "<" else text[opened], opened) + 1, " "
