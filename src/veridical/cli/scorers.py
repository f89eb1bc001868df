"""``veridical scorers``: the list of scorers, and one in full."""

from __future__ import annotations

import inspect
import json
import shutil
import textwrap
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import typer

from veridical.cli.help import shell_lines
from veridical.errors import UsageError

if TYPE_CHECKING:
    from veridical.core.registry import BoundScorer, Scorer

SCORERS_EXAMPLES = (
    "Examples:\n\n  veridical scorers\n\n  veridical scorers nli_grounding\n\n"
    "  veridical scorers --json"
)

_ANY = "Contexts, samples or a reference"
_FILE = "A file from `veridical tune`"
#: Headings, each with the record field that its scorers need.
_GROUPS = {
    "any": _ANY,
    "contexts": "Contexts: passages that the answer must follow",
    "reference": "A reference: the right answer",
    "samples": "Samples: other answers to the same question",
    "logprobs": "Log-probabilities of the answer's tokens, or a model that reads it (--proxy)",
    "llm": "An LLM (--llm NAME)",
    "file": _FILE,
}
#: Costs in words.
_COSTS = {
    "free": "instant",
    "embed": "embedding",
    "tokens": "embedding",
    "nli": "NLI",
    "probabilities": "log-probs",
    "seq2seq": "large model",
    "llm": "LLM",
}
_NAME, _COST, _WIDEST = 24, 12, 100  # columns


def scorers(
    name: Annotated[str | None, typer.Argument(help="Scorer to describe.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with parameters.")] = False,
) -> int:
    """List scorers by the record fields that they require, or describe one."""
    from veridical.core.registry import REGISTRY

    listed = REGISTRY.all() if name is None else [REGISTRY.get(name)]
    width = min(_WIDEST, max(60, shutil.get_terminal_size().columns))
    if as_json:
        print(json.dumps([_as_dict(s) for s in listed], indent=1))
    elif name is None:
        typer.echo("\n".join(_list(listed, width)))
    else:
        typer.echo("\n".join(_page(listed[0], width)))
    return 0


def _as_dict(s: Scorer) -> dict[str, Any]:
    return {
        "name": s.name,
        "level": s.level,
        "needs": sorted(s.needs),
        "cost": s.cost,
        "presets": sorted(s.presets),
        "parameters": {n: p.default for n, p in s.parameters.items()},
        "raw_is": s.raw_is,
        "source": s.source,
        "summary": s.summary,
    }


def _list(listed: list[Scorer], width: int) -> Iterator[str]:
    groups: dict[str, list[Scorer]] = {group: [] for group in _GROUPS}
    for s in listed:
        groups[_group(s)].append(s)
    for group, members in groups.items():
        if not members:
            continue
        yield typer.style(_GROUPS[group], bold=True)
        for s in sorted(members, key=lambda s: ("auto" not in s.presets, s.name)):
            mark = "*" if "auto" in s.presets else " "
            head = f"{mark} {s.name:<{_NAME}}{_cost(s):<{_COST}}"
            room = width - len(head) - 1
            lines = textwrap.wrap(s.summary.replace("``", ""), room, break_on_hyphens=False) or [""]
            yield (head + lines[0]).rstrip()
            yield from (" " * len(head) + line for line in lines[1:])
        yield ""
    yield "* in the default (--preset auto), if the record has the required fields"
    yield "veridical scorers NAME shows the parameters, source and an example of one"


def _bound(s: Scorer) -> BoundScorer:
    from veridical.core.registry import BoundScorer

    return BoundScorer(s)


def _of_a_file(s: Scorer) -> bool:
    """Return True if a file names the parts of ``s``, and it has no other parts."""
    try:
        return s.parts is not None and not _bound(s).parts
    except UsageError:
        return True


def _group(s: Scorer) -> str:
    """Return the key in :data:`_GROUPS` for the needs of ``s`` with its defaults."""
    if _of_a_file(s):
        return "file"
    cost, needs = _bound(s).cost, _bound(s).needs
    against = s.defaults.get("against")
    for group in ("llm", "logprobs"):
        if group in (cost, *needs):
            return group
    if against == "auto":
        return "any"
    if cost == "probabilities" and against is None:
        return "logprobs"
    return next((g for g in _GROUPS if g in needs or g == against), "file")


def _cost(s: Scorer) -> str:
    if _of_a_file(s):
        return "as its parts"
    cost = _bound(s).cost
    if cost == "nli" and s.defaults.get("nli"):  # a checkpoint of its own
        return "large NLI"
    return _COSTS.get(cost, cost)


def _page(s: Scorer, width: int) -> Iterator[str]:
    yield typer.style(s.name, bold=True)
    yield ""
    yield from _documented(s, width)
    default = "in the default preset" if "auto" in s.presets else "not in the default preset"
    facts = {
        "Needs": _GROUPS[_group(s)],
        "Cost": f"{_cost(s)}, {default}",
        "Judges": f"each {s.level}",
        "Raw value": f"larger is {'riskier' if s.raw_is == 'risk' else 'safer'}",
        "Source": s.source,
    }
    if s.tuned_on:
        facts["Tuned on"] = f"{', '.join(s.tuned_on)}: figures on it are in-domain"
    for title, text in facts.items():
        yield from _hanging(f"{title + ':':<11}", text, width)
    if s.parameters:
        yield ""
        yield typer.style("Parameters", bold=True)
        for n, p in s.parameters.items():
            values = _values(p.annotation)
            default = _shown(p.default)
            yield from _hanging(f"  {n:<18}", f"default {default}; {values}", width)
    yield ""
    yield typer.style("Example", bold=True)
    yield from shell_lines(_example(s), width)


def _documented(s: Scorer, width: int) -> Iterator[str]:
    """Wrap the docstring at ``width``, with hanging indents for entries."""
    block: list[str] = []
    for line in [*(inspect.getdoc(s.function) or "").replace("``", "").splitlines(), ""]:
        depth = len(line) - len(line.lstrip())
        first = len(block[0]) - len(block[0].lstrip()) if block else 0
        heading = bool(block) and block[0].rstrip() in ("Args:", "Raises:")
        if block and (not line or heading or 0 < depth <= first):
            text = " ".join(part.strip() for part in block)
            margin, hang = " " * first, " " * (2 * first)
            yield from textwrap.wrap(
                text,
                width - 1,
                initial_indent=margin,
                subsequent_indent=hang,
                break_on_hyphens=False,
            )
            block = []
        if line:
            block.append(line)
        else:
            yield ""


def _hanging(head: str, text: str, width: int) -> Iterator[str]:
    lines = textwrap.wrap(text, width - len(head) - 1, break_on_hyphens=False) or [""]
    yield head + lines[0]
    yield from (" " * len(head) + line for line in lines[1:])


def _values(annotation: Any) -> str:
    """Describe the values of a parameter with this annotation."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return ", ".join(map(_shown, arguments))
    if origin in (Union, types.UnionType):
        words = [_values(a) for a in arguments if a is not type(None)]
        return " or ".join([*words, *(["none"] if type(None) in arguments else [])])
    if origin is Annotated:
        limits = [limit for mark in arguments[1:] for limit in getattr(mark, "metadata", [mark])]
        return _values(arguments[0]) + _limits(limits)
    if origin is tuple:
        return f"{len(arguments)} values, each {_values(arguments[0])}"
    names = {int: "a whole number", float: "a number", bool: "true, false", str: "a text"}
    return names.get(annotation, "a name")


def _limits(limits: list[Any]) -> str:
    words = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
    texts = [
        f"{word} {getattr(limit, name):g}"
        for limit in limits
        for name, word in words.items()
        if hasattr(limit, name)
    ]
    return f" ({', '.join(texts)})" if texts else ""


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)


def _example(s: Scorer) -> str:
    """Return an example command with ``s``, with one choice set if it has any."""
    from veridical.core.registry import REGISTRY

    call = s.name
    for name, parameter in s.parameters.items():
        choices = get_args(parameter.annotation) if name != "against" else ()
        other = [c for c in choices if isinstance(c, str) and c != parameter.default]
        if get_origin(parameter.annotation) is Literal and other:
            try:
                REGISTRY.bind(s.name, {name: other[0]}).check()
            except UsageError:
                continue
            call = f"{s.name}({name}={other[0]})"
            break
    group = _group(s)
    if "file" in s.parameters and group == "file":
        call = f"{s.name}(file='{s.name}.json')"
    named = {"llm": " --llm NAME", "logprobs": " --proxy smollm2"}.get(group, "")
    return f'veridical check answers.jsonl --scorers "{call}"{named}'
