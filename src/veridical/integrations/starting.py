"""Starter files: CI workflow, pytest module, promptfoo configuration."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from veridical.errors import UsageError
from veridical.files.atomic import write_atomic
from veridical.text.display import display, reason


class Starter(NamedTuple):
    """Starter with its next steps.

    Attributes:
        files: target path -> name in the package.
        next: instructions for the user.
    """

    files: dict[str, str]
    next: tuple[str, ...]


STARTERS = {
    "ci": Starter(
        {
            ".github/workflows/veridical.yml": "workflow.yml.txt",
            "evals/answers.jsonl": "answers.jsonl.txt",
        },
        (
            "veridical check evals/answers.jsonl",
            "then let your application write evals/answers.jsonl, and commit both files; each "
            "change is compared with its base",
        ),
    ),
    "pytest": Starter(
        {"tests/test_answers.py": "test_answers.py.txt"},
        (
            "pytest tests/test_answers.py",
            "then call your application in its function application()",
        ),
    ),
    "promptfoo": Starter(
        {
            "promptfooconfig.yaml": "promptfooconfig.yaml.txt",
            "veridical_assert.py": "veridical_assert.py.txt",
        },
        (
            "npx promptfoo eval",
            "then set your prompts and provider in promptfooconfig.yaml",
        ),
    ),
}


def start(name: str, folder: Path, *, force: bool = False) -> list[Path]:
    """Write the files of a starter, all or none.

    Args:
        name: of :data:`STARTERS`.
        force: overwrite existing files.

    Returns:
        The written files.

    Raises:
        UsageError: a file exists already, or cannot be written.
    """
    starter = STARTERS[name]
    texts = {
        folder / place: files(__package__).joinpath("starters").joinpath(source).read_text("utf-8")
        for place, source in starter.files.items()
    }
    there = [display(path) for path in texts if path.exists() or path.is_symlink()]
    if there and not force:
        raise UsageError(f"already exists: {', '.join(there)}; use --force to overwrite")
    for path, text in texts.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, text)
        except OSError as e:
            raise UsageError(f"cannot write {display(path)}: {reason(e)}") from None
    return list(texts)
