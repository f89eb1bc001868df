"""Prompt templates and the messages they produce."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from veridical.errors import UsageError, unknown_name
from veridical.files.settings import settings
from veridical.files.toml import parse_toml
from veridical.prompts.fences import NOTE, fence
from veridical.prompts.scales import Scale, scale_of

if TYPE_CHECKING:
    from veridical.core.messages import Message

#: ``{name}``; any other brace is literal, so that templates may contain JSON.
_PLACE = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_PINNED = re.compile(r"\.toml@[0-9a-f]{8}\Z")
_OPTIONS = frozenset({"fenced", "explain", "as_json"})
_EXPLAIN = (
    "Before the verdict, explain it in one or two sentences, on a line of its own that begins "
    "with Explanation: and then give the verdict on a last line that begins with {key}:"
)
_AS_JSON = "Give your reply as one JSON object and nothing else: {fields}"
_AGAIN = (
    "An earlier reply to this had no verdict that could be read: it gave none or several, took one "
    "back, or quoted one. Give one verdict, your own, and quote nothing."
)
_ALONE = "Reply with one line and nothing else: {key}: and then {wanted}."
_REASONS = '"explanation": "your reasons, in one or two sentences", '
_ROLES = ("system", "user", "assistant")
_MAX_TEMPLATE_BYTES = 1_000_000


class Turn(NamedTuple):
    """A message of a template: its role, and its text with placeholders."""

    role: str
    content: str


@dataclass(frozen=True)
class _File:
    """A template file."""

    message: tuple[Any, ...] = ()
    explained: tuple[Any, ...] | None = None
    explains: bool = False
    verdict: dict[str, Any] | None = None
    trusted: tuple[str, ...] = ()
    note: str | None = None
    title: str = ""
    source: str = ""


@dataclass(frozen=True)
class Prompt:
    """A template.

    Attributes:
        name: name of the packaged file, or path of a user's file.
        version: the first 8 hexadecimal digits of a hash of the file's content.
        title: its question, in one line.
        source: paper, section, table or file of its origin.
        turns: the conversation.
        explained: the conversation used to request an explanation; None adds a sentence to
            ``turns`` instead.
        explains: True if ``turns`` already request an explanation.
        scale: the allowed answers; None for free text.
        key: name of the answer in JSON and in a text line ("Score: 5").
        trusted: parts that are not quoted text and need no fence.
        note: short note on fences at the start of its first message; None puts the long instruction
            into the system message.
    """

    name: str
    version: str
    title: str
    source: str
    turns: tuple[Turn, ...]
    explained: tuple[Turn, ...] | None = None
    explains: bool = False
    scale: Scale | None = None
    key: str = "verdict"
    trusted: frozenset[str] = frozenset()
    note: str | None = None

    @property
    def identity(self) -> str:
        """Return ``name@version``: another content has another identity."""
        return f"{self.name}@{self.version}"

    @cached_property
    def parts(self) -> frozenset[str]:
        """Return the names of all values that :meth:`messages` requires."""
        turns = (*self.turns, *(self.explained or ()))
        return frozenset(name for t in turns for name in _PLACE.findall(t.content))

    def messages(
        self, *, fenced: bool = True, explain: bool = False, as_json: bool = False, **parts: str
    ) -> tuple[Message, ...]:
        """Return the conversation with ``parts`` in their placeholders.

        Args:
            fenced: put quoted parts between unforgeable delimiters, with an instruction; False
                gives the text as published.
            explain: request an explanation in addition to the verdict.
            as_json: request both as the JSON that :meth:`schema` describes. A model constrained to
                a schema that the prompt does not mention gives distorted answers.
            parts: a text for each of :attr:`parts`. Braces in them are literal.

        Raises:
            UsageError: a part is missing, or is unknown to the template.
        """
        if set(parts) != self.parts:
            missing, extra = sorted(self.parts - set(parts)), sorted(set(parts) - self.parts)
            raise UsageError(
                f"prompt {self.name}: "
                + "; ".join(
                    f"{what} {', '.join(names)}"
                    for what, names in (("lacks", missing), ("has no place for", extra))
                    if names
                )
            )
        quoted = {n: t for n, t in parts.items() if n not in self.trusted}
        filled = {**parts, **fence(quoted)} if fenced and quoted else parts
        own_words = explain and self.explained is not None and not as_json
        turns = list((own_words and self.explained) or self.turns)
        form = ""
        if as_json:
            form = self._asked_as_json(explain)
        elif explain and not own_words and not self.explains:
            form = _EXPLAIN.replace("{key}", self.key.capitalize())
        if form:
            last = turns[-1]
            turns[-1] = Turn(last.role, f"{last.content.rstrip()}\n\n{form}")
        if fenced and quoted:
            turns = _noted(turns, self.note)
        return tuple(
            {"role": t.role, "content": _PLACE.sub(lambda m: filled[m[1]], t.content)}
            for t in turns
        )

    def rule(self, *, as_json: bool, explain: bool) -> str:
        """Return the format instruction for a model whose last reply had no clear verdict.

        Args:
            as_json: see :meth:`messages`.
            explain: also request an explanation, if the reply is JSON.
        """
        if as_json:
            return f"{_AGAIN} {self._asked_as_json(explain)}"
        if self.scale is None:
            raise UsageError(f"prompt {self.name} has no [verdict] table, so it gives no verdict")
        alone = _ALONE.replace("{wanted}", self.scale.wanted())
        return f"{_AGAIN} {alone.replace('{key}', self.key.capitalize())}"

    def schema(self, explain: bool = False) -> dict[str, Any]:
        """Return the JSON schema of the answer: an optional explanation, then the verdict.

        The explanation comes first, so that the verdict follows from it.
        """
        if self.scale is None:
            raise UsageError(f"prompt {self.name} has no [verdict] table, so it gives no verdict")
        fields: dict[str, Any] = (
            {"explanation": {"type": "string"}} if explain or self.explains else {}
        )
        fields[self.key] = self.scale.schema()
        return {
            "type": "object",
            "properties": fields,
            "required": list(fields),
            "additionalProperties": False,
        }

    def _asked_as_json(self, explain: bool) -> str:
        if self.scale is None:
            raise UsageError(f"prompt {self.name} has no [verdict] table, so it gives no verdict")
        verdict = f'"{self.key}": {self.scale.wanted()}'
        fields = "{" + (_REASONS if explain or self.explains else "") + verdict + "}"
        return _AS_JSON.replace("{fields}", fields)

    @classmethod
    def parse(cls, name: str, content: bytes) -> Prompt:
        """Read a template file.

        Raises:
            UsageError: the file is not a template; the message has the reason.
        """
        try:
            return _parsed(name, content)
        except UsageError as e:
            raise UsageError(f"prompt {name}: {e}") from None


class PromptName(str):
    """Annotation of a scorer's template parameter, validated when the scorer is bound.

    A user's file is pinned to its content (``mine.toml@1a2b3c4d``), which becomes part of the
    scorer's name: an edited file makes another scorer. The versions of all templates are part of a
    scorer's signature and the run's fingerprint.
    """

    @staticmethod
    def prompts(value: str) -> tuple[str, ...]:
        """Return the templates named in the parameter, for the registry."""
        return (value,)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(pinned, core_schema.str_schema())


def pinned(name: str) -> str:
    """Return ``name``, or for a file its name with version: ``mine.toml@1a2b3c4d``."""
    prompt = load_prompt(name)
    return prompt.identity if _is_file(name) else name


def prompt_identity(name: str) -> str:
    """Return ``name@version`` of a template.

    For a pinned file it is the given name, even if the file has changed since.

    Raises:
        UsageError: see :func:`load_prompt`.
    """
    return name if _PINNED.search(name) else load_prompt(name).identity


def prompt_names() -> list[str]:
    """Return the sorted names of the package's templates."""
    files = resources.files("veridical.prompts").iterdir()
    return sorted(f.name[: -len(".toml")] for f in files if f.name.endswith(".toml"))


def load_prompt(name: str) -> Prompt:
    """Load the template called ``name``, or from the file of that path (``.toml``).

    A path may end in ``@`` and a version, which the file must then have.

    Raises:
        UsageError: it does not exist, cannot be read, is not a template, or has changed.
    """
    return _from_file(name) if _is_file(name) else _packaged(name)


def _is_file(name: str) -> bool:
    return name.endswith(".toml") or _PINNED.search(name) is not None


@cache
def _packaged(name: str) -> Prompt:
    if name not in prompt_names():
        raise unknown_name("prompt template", name, prompt_names())
    path = resources.files("veridical.prompts") / f"{name}.toml"
    return Prompt.parse(name, path.read_bytes())


def _from_file(name: str) -> Prompt:
    path, at, version = name.rpartition("@")
    if not at or name.endswith(".toml"):
        path, version = name, ""
    try:
        status = Path(path).stat()
        if status.st_size > _MAX_TEMPLATE_BYTES:
            raise UsageError(f"prompt {path} is larger than {_MAX_TEMPLATE_BYTES} bytes")
        prompt = _read(path, status.st_mtime_ns, status.st_size)
    except OSError as e:
        raise UsageError(f"cannot read prompt {path}: {e.strerror or e}") from None
    if version and version != prompt.version:
        raise UsageError(f"prompt {path} has changed: it was {version} and is {prompt.version}")
    return prompt


@cache
def _read(path: str, modified: int, size: int) -> Prompt:
    return Prompt.parse(path, Path(path).read_bytes())


def _noted(turns: list[Turn], note: str | None) -> list[Turn]:
    """Add the instruction on fences to ``turns``: the template's note, or the system message."""
    first = turns[0]
    if note is not None:
        return [Turn(first.role, f"{note}\n\n{first.content}"), *turns[1:]]
    if first.role == "system":
        return [Turn("system", f"{first.content.rstrip()}\n\n{NOTE}"), *turns[1:]]
    return [Turn("system", NOTE), *turns]


def _parsed(name: str, content: bytes) -> Prompt:
    try:
        table = parse_toml(content.decode("utf-8"))
    except ValueError as e:
        raise UsageError(f"not a TOML file: {e}") from None
    unknown = sorted(set(table) - {f.name for f in fields(_File)})
    if unknown:
        known = ", ".join(sorted(f.name for f in fields(_File)))
        raise UsageError(f"unknown keys: {', '.join(unknown)}; a template takes {known}")
    file = settings(_File, table, "template")
    if file.explains and file.explained is not None:
        raise UsageError("explains cannot be combined with [[explained]]")
    turns = _turns(file.message, "message")
    explained = None if file.explained is None else _turns(file.explained, "explained")
    verdict = file.verdict
    key = "verdict" if verdict is None else verdict.get("key", "verdict")
    if not isinstance(key, str):
        raise UsageError("verdict.key must be a text")
    prompt = Prompt(
        name=name,
        version=hashlib.blake2b(content, digest_size=4).hexdigest(),
        title=file.title,
        source=file.source,
        turns=turns,
        explained=explained,
        explains=file.explains,
        scale=None if verdict is None else scale_of(verdict),
        key=key,
        trusted=frozenset(file.trusted),
        note=file.note,
    )
    if verdict is not None and not all(t[-1].role == "user" for t in (turns, explained or turns)):
        raise UsageError("with a [verdict], the last message must have the role user")
    reserved = sorted(prompt.parts & _OPTIONS)
    if reserved:
        raise UsageError(f"reserved name of a part: {', '.join(reserved)}; choose another")
    if explained and prompt.parts != {n for t in explained for n in _PLACE.findall(t.content)}:
        raise UsageError("[[explained]] must have the same parts as [[message]]")
    return prompt


def _turns(rows: Sequence[Any], key: Literal["message", "explained"]) -> tuple[Turn, ...]:
    if not rows:
        raise UsageError(f"[[{key}]] is missing")
    turns = []
    for i, row in enumerate(rows):
        good = isinstance(row, dict) and set(row) == {"role", "content"}
        if not good or row["role"] not in _ROLES or not isinstance(row["content"], str):
            raise UsageError(
                f"[[{key}]] must have a role ({', '.join(_ROLES)}) and a text as content"
            )
        if row["role"] == "system" and i > 0:
            raise UsageError("only the first message can have the role system")
        if not row["content"].strip():
            raise UsageError(f"[[{key}]] has a message without text")
        turns.append(Turn(row["role"], row["content"]))
    return tuple(turns)
