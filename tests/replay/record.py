"""Record what a version of veridical makes of the inputs beside this file.

    PYTHON tests/replay/record.py FOLDER          # everything; FOLDER is emptied first
    PYTHON tests/replay/record.py FOLDER --runs   # run directories only

PYTHON is that of an environment with the version to record, such as a worktree of an older commit.
``recorded/`` was made by commit 86c81d3, before the layers were moved; ``recorded/sealed/`` holds
the run directories of commit 0457a48, the first state whose result lines are sealed; and
``recorded/sealed-0.3/`` those of the first state whose verdicts are cut by ``--strictness``, so
that they may be resumed. Keep all: a recording made anew by today's code would show nothing.
"""

from __future__ import annotations

import argparse
import inspect
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from replay_commands import (
    APPLIED,
    BENCH,
    CASCADE,
    CHECKS,
    HELP,
    INPUTS,
    RENDERINGS,
    ROWS_KEPT,
    RUN,
    SAMPLE,
    TUNED,
    Outcome,
    check,
    commands_of,
    flag,
    machine,
    options_of,
    run_all,
    tune,
)


def write(path: Path, value: Any) -> None:
    """JSON, readable in a diff."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def fine(outcome: Outcome) -> Outcome:
    """An outcome that must be a success."""
    if outcome.exit_code:
        raise SystemExit(outcome.stderr)
    return outcome


def record_checks(work: Path, out: Path) -> None:
    """Result lines and exit codes of every case, after the files of ``tune`` that some need."""
    for outcome in run_all([*(tune(n, o) for n, o in TUNED.items()), CASCADE], work):
        fine(outcome)
    (out / "tuned").mkdir(parents=True)
    for name in (*TUNED, "cascade"):
        shutil.copy(work / f"{name}.json", out / "tuned")
    cases = {**CHECKS, **APPLIED}
    outcomes = run_all([check(name, options) for name, options in cases.items()], work)
    exits = {}
    (out / "lines").mkdir()
    for name, outcome in zip(cases, outcomes, strict=True):
        exits[name] = outcome.exit_code
        lines = work / f"{name}.lines"
        if lines.exists():
            shutil.copy(lines, out / "lines" / f"{name}.jsonl")
    write(out / "exits.json", exits)


def record_runs(work: Path, out: Path) -> None:
    """A run that has ended, and the same run as though it had been killed after some rows."""
    (outcome,) = run_all([("check", *RUN, "--out", "run", "--processes", "0")], work)
    fine(outcome)
    for name in ("finished", "interrupted"):
        shutil.copytree(work / "run", out / "runs" / name)
    results = out / "runs" / "interrupted" / "results.jsonl"
    lines = results.read_bytes().splitlines(keepends=True)
    results.write_bytes(b"".join(lines[:ROWS_KEPT]) + lines[ROWS_KEPT][:80])


def record_bench(work: Path, out: Path) -> None:
    """A benchmark's file and what is rendered from it."""
    commands = [("report", "bench", "--out", f"bench.{kind}") for kind in RENDERINGS]
    for outcome in run_all([BENCH, *commands], work):
        fine(outcome)
    (out / "bench").mkdir()
    shutil.copy(work / "bench" / "bench.json", out / "bench")
    for kind in RENDERINGS:
        if kind != "html":  # its figures are those of the JSON; its style may change
            shutil.copy(work / f"bench.{kind}", out / "bench" / f"rendered.{kind}")


def record_names(work: Path, out: Path) -> None:
    """Commands with their options, scorers, and the names of the Python package."""
    helped = [(*command, flag(command)) for command in HELP]
    outcomes = run_all([*helped, ("scorers", "--json")], work)
    *helps, scorers = map(fine, outcomes)
    write(
        out / "help.json",
        {
            " ".join(command): {
                "options": options_of(outcome.stdout),
                "commands": commands_of(outcome.stdout),
            }
            for command, outcome in zip(HELP, helps, strict=True)
        },
    )
    write(out / "scorers.json", json.loads(scorers.stdout))
    write(out / "python.json", python_names())


def python_names() -> dict[str, Any]:
    """Public names, with keywords of functions, and members of classes."""
    import veridical

    names: dict[str, Any] = {}
    for module, prefix in ((veridical, ""), (veridical.claims, "claims.")):
        for name in module.__all__:
            value = getattr(module, name)
            entry: dict[str, Any] = {}
            if inspect.isfunction(value):
                entry["keywords"] = {
                    p.name: p.default if is_plain(p.default) else None
                    for p in inspect.signature(value).parameters.values()
                    if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)
                }
            elif inspect.isclass(value):
                entry["members"] = members(value)
            names[prefix + name] = entry
    return names


def is_plain(value: Any) -> bool:
    """Whether JSON can hold a default."""
    return value is None or isinstance(value, bool | int | float | str | tuple)


def members(cls: type) -> list[str]:
    """Public attributes that are the class's own or of its kin here, fields included."""
    kin = [c for c in cls.__mro__ if c.__module__.startswith("veridical")]
    names = {n for c in kin for n in vars(c)} | set(getattr(cls, "model_fields", ()))
    ours = {n for n in names if not n.startswith("_") and not n.startswith("model_")}
    return sorted(ours)


def main() -> None:
    parser = argparse.ArgumentParser(description="Record what this version makes of the inputs.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", action="store_true", help="run directories only")
    options = parser.parse_args()
    out = options.folder.resolve()
    if out.exists():
        shutil.rmtree(out)
    out.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary) / "work"
        shutil.copytree(INPUTS, work)
        record_runs(work, out)
        if options.runs:
            return
        record_checks(work, out)
        record_bench(work, out)
        (outcome,) = run_all([SAMPLE], work)
        fine(outcome)
        shutil.copy(work / "sampled.jsonl", out)
        record_names(work, out)
    write(out / "machine.json", machine())


if __name__ == "__main__":
    main()
