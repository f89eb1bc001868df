"""SARIF 2.1.0 (OASIS, 2020): findings at the lines of rows."""

from __future__ import annotations

import hashlib
import heapq
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple
from urllib.parse import quote

from veridical.version import __version__

Level = Literal["error", "warning", "note"]

#: Maximum findings of a file, the worst ones. Code hosts accept no more per run.
MOST = 5_000
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_SEVERITY: dict[Level, int] = {"error": 2, "warning": 1, "note": 0}
_LONGEST = 1_000


class SarifRule(NamedTuple):
    """Rule that a finding violates: a verdict, with the scorer that gave it."""

    id: str
    description: str
    level: Level


class SarifFinding(NamedTuple):
    """Finding.

    Attributes:
        line: from 1; None if the input has no lines.
        about: identifies the same finding in the next run, such as prompt and sentence.
        risk: ranks it among others of its level.
        properties: further facts.
    """

    rule: SarifRule
    message: str
    file: str
    line: int | None
    about: tuple[str, ...]
    risk: float | None
    properties: dict[str, Any]


def write_sarif(out: IO[str], findings: Iterable[SarifFinding]) -> int:
    """Write the findings in order; if more than :data:`MOST`, only the worst.

    Returns:
        The number of omitted findings, which the file states too.
    """
    total = 0
    kept: list[tuple[int, float, int, SarifFinding]] = []
    for total, finding in enumerate(findings, 1):
        risk = -1.0 if finding.risk is None else finding.risk
        ranked = (_SEVERITY[finding.rule.level], risk, -total, finding)
        if len(kept) < MOST:
            heapq.heappush(kept, ranked)
        else:
            heapq.heappushpop(kept, ranked)
    chosen = [finding for *_, finding in sorted(kept, key=lambda k: -k[2])]
    omitted = total - len(chosen)
    rules = list(dict.fromkeys(finding.rule for finding in chosen))
    places = {rule: i for i, rule in enumerate(rules)}
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "veridical",
                "version": __version__,
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True, **_notification(omitted)}],
        "results": [_result(finding, places[finding.rule]) for finding in chosen],
        "properties": {"omitted": omitted},
    }
    content = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    json.dump(content, out, ensure_ascii=True, indent=1)
    out.write("\n")
    return omitted


def _rule(rule: SarifRule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.description},
        "defaultConfiguration": {"level": rule.level},
    }


def _notification(omitted: int) -> dict[str, Any]:
    if not omitted:
        return {}
    text = f"{omitted} findings are left out: the {MOST} worst are listed"
    return {"toolExecutionNotifications": [{"level": "warning", "message": {"text": text}}]}


def _result(finding: SarifFinding, rule: int) -> dict[str, Any]:
    text = " ".join(finding.message.split()).replace("](", "] (")  # prevents a link
    if len(text) > _LONGEST:
        text = text[: _LONGEST - 1] + "…"
    return {
        "ruleId": finding.rule.id,
        "ruleIndex": rule,
        "level": finding.rule.level,
        "message": {"text": text or finding.rule.description},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": _artifact(finding.file),
                    "region": {"startLine": finding.line or 1},
                }
            }
        ],
        "partialFingerprints": {"promptAndText/v1": _fingerprint(finding.about)},
        "properties": finding.properties,
    }


def _artifact(file: str) -> dict[str, str]:
    """Return a file's location, relative to the repository if it is below the current folder."""
    relative = os.path.relpath(file)
    if relative.startswith(".."):
        return {"uri": Path(file).absolute().as_uri()}
    return {"uri": quote(Path(relative).as_posix()), "uriBaseId": "%SRCROOT%"}


def _fingerprint(about: tuple[str, ...]) -> str:
    text = json.dumps(about, ensure_ascii=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
