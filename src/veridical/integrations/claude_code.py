"""Claude Code stop hook: checks the last answer against tool results.

The agent starts it with a JSON object on standard input, whose ``transcript_path`` names the
conversation as JSON lines. Tool results are the sources; the question is the user's last message.
All texts of the conversation are untrusted.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.core.prompt_text import message_text
from veridical.errors import UsageError
from veridical.integrations.judgement import short
from veridical.io.conversations import Message, contexts_of, from_anthropic, said
from veridical.io.lines import from_json, read_lines
from veridical.io.problems import RowProblem
from veridical.single import check_one
from veridical.text.display import display, reason

if TYPE_CHECKING:
    from veridical.core.explain import ShownSource
    from veridical.core.scores import Result
    from veridical.core.verdict_cuts import Verdict

#: Maximum characters of tool results that are read, the latest first.
MOST = 2_000_000
_SHOWN = 8  # maximum statements reported to the agent


@dataclass(frozen=True)
class AgentTurn:
    """Answer to be checked.

    Attributes:
        contexts: objects with ``id``, the tool's name, and ``text``.
    """

    answer: str
    question: str | None
    contexts: list[dict[str, Any]]

    def check(self, **options: Any) -> Result:
        """Check the answer with options of :func:`veridical.check_one`."""
        return check_one(
            self.answer, question=self.question, contexts=self.contexts or None, **options
        )

    def message(self, result: Result, bad: Iterable[Verdict]) -> str:
        """Return the message to the agent about a rejected answer."""
        shown = result.shown()
        wrong = [piece for piece in shown.sentences if piece.verdict in bad]
        if not wrong:
            return f"veridical: the answer is {result.verdict}. {shown.why or ''}".strip()
        wrong.sort(key=lambda piece: -(piece.risk or 0.0))
        lines = ["veridical checked your answer against the results of your tools:"]
        for piece in wrong[:_SHOWN]:
            lines.append(f'- {piece.verdict}: "{short(piece.text)}"')
            lines += [f"  {self._place(item)}" for item in piece.evidence[:1]]
        if len(wrong) > _SHOWN:
            lines.append(f"- and {len(wrong) - _SHOWN} more")
        lines.append("Correct these statements, or name their other sources.")
        return "\n".join(lines)

    def _place(self, item: ShownSource) -> str:
        name = "source"
        if item.kind == "context" and item.index < len(self.contexts):
            name = short(str(self.contexts[item.index].get("id", name)))
        return f'{name} says: "{short(item.text)}"'


def turn_of(event: Mapping[str, Any]) -> AgentTurn | None:
    """Return the turn that has ended; None without an answer of the agent.

    Args:
        event: the hook's input.

    Raises:
        UsageError: it names no readable conversation.
    """
    path = event.get("transcript_path")
    if not isinstance(path, str) or not path:
        raise UsageError(
            "standard input: transcript_path is missing; run this as a Claude Code hook"
        )
    messages = list(_messages(Path(path).expanduser()))
    answer, question = "", None
    last = len(messages)
    while last and messages[last - 1]["role"] == "assistant":
        last -= 1
    answer = "\n\n".join(filter(None, map(said, messages[last:])))
    given = event.get("last_assistant_message")
    if isinstance(given, str) and given.strip():
        answer = given
    for message in reversed(messages[:last]):
        if message["role"] == "user" and (text := message_text(message["content"]).strip()):
            question = text
            break
    if not answer.strip():
        return None
    return AgentTurn(answer, question, _latest(contexts_of(messages)))


def _messages(path: Path) -> Iterator[Message]:
    """Yield the messages of a conversation; unreadable lines are skipped."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UsageError(f"{display(path)} is not a file")
        with path.open("rb") as stream:
            for _, line in read_lines(stream):
                if isinstance(line, bytes) and line.strip():
                    yield from _of_line(line)
    except (OSError, ValueError) as e:
        raise UsageError(f"cannot read {display(path)}: {reason(e)}") from None


def _of_line(line: bytes) -> list[Message]:
    try:
        entry = from_json(line, "not JSON")
        # lines of other agents, lines not read by the agent itself, and error lines
        if not isinstance(entry, dict) or entry.get("isSidechain") or entry.get("isMeta"):
            return []
        if entry.get("type") not in ("user", "assistant") or entry.get("isApiErrorMessage"):
            return []
        return from_anthropic(None, [entry.get("message")])
    except RowProblem:
        return []


def _latest(contexts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return as many of the latest contexts as the limit allows, in order."""
    kept, total = 0, 0
    for context in reversed(contexts):
        total += len(context["text"])
        if total > MOST:
            break
        kept += 1
    return contexts[len(contexts) - kept :]
