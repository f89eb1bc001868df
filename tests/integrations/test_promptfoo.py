"""The assertion by promptfoo's protocol, and by promptfoo itself where it is installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from veridical import UsageError
from veridical.integrations.promptfoo import get_assert

SOURCE = "The tower is 57 m tall."
WRONG = "The tower is 70 m tall."


def context(config: dict[str, Any] | None = None, **variables: Any) -> dict[str, Any]:
    return {"prompt": "How tall?", "vars": variables, "config": {"store": "none", **(config or {})}}


def test_what_it_answers() -> None:
    right = get_assert(SOURCE, context(context=SOURCE))
    assert right["pass"] is True and right["score"] == 1 - right["namedScores"]["risk"] > 0.5
    wrong = get_assert(WRONG, context(documents=["Other.", SOURCE]))
    assert wrong["pass"] is False and wrong["reason"].startswith("contradicted")
    json.dumps([right, wrong])


def test_what_was_not_checked_does_not_pass() -> None:
    unchecked = get_assert(SOURCE, context())
    assert unchecked["pass"] is False and unchecked["score"] == 0
    assert unchecked["reason"].startswith("unchecked") and unchecked["namedScores"] == {}


def test_a_threshold_and_options() -> None:
    assert not get_assert(SOURCE, context({"threshold": 1.0}, context=SOURCE))["pass"]
    with pytest.raises(UsageError, match="did you mean"):
        get_assert(SOURCE, context({"presett": "fast"}, context=SOURCE))


PROMPTFOO = os.environ.get("PROMPTFOO") or shutil.which("promptfoo")


@pytest.mark.skipif(PROMPTFOO is None, reason="promptfoo is not here")
def test_promptfoo_itself(tmp_path: Path) -> None:
    config = {
        "prompts": ["{{answer}}"],
        "providers": ["echo"],
        "defaultTest": {"assert": [{"type": "python", "value": "file://veridical_assert.py"}]},
        "tests": [
            {"vars": {"answer": SOURCE, "context": SOURCE}},
            {"vars": {"answer": WRONG, "context": SOURCE}},
            {"vars": {"answer": SOURCE}},
        ],
    }
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    (tmp_path / "veridical_assert.py").write_text(
        "from veridical.integrations.promptfoo import get_assert\n"
    )
    environment = {
        **os.environ,
        "PROMPTFOO_PYTHON": sys.executable,
        "PROMPTFOO_CONFIG_DIR": str(tmp_path / "config"),
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
    }
    command = [str(PROMPTFOO), "eval", "-c", "promptfooconfig.json", "-o", "out.json", "--no-cache"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert (tmp_path / "out.json").exists(), done.stdout + done.stderr
    found = json.loads((tmp_path / "out.json").read_text())["results"]["results"]
    told = {(r["vars"]["answer"], "context" in r["vars"]): r for r in found}
    assert [told[key]["success"] for key in ((SOURCE, True), (WRONG, True), (SOURCE, False))] == [
        *(True, False, False)
    ]
    reason = told[WRONG, True]["gradingResult"]["reason"]
    assert "contradicted" in reason
