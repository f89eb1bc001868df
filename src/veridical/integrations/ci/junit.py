"""JUnit XML: a test suite with a test case per record.

All content is text: characters that XML does not allow are replaced.
"""

from __future__ import annotations

import datetime
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import IO, Literal, NamedTuple
from xml.sax.saxutils import escape, quoteattr

Outcome = Literal["passed", "failure", "error", "skipped"]

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LONGEST = 300  # maximum characters of a message, and of a name
_IN_MEMORY = 8 << 20


class Case(NamedTuple):
    """Test case: ``kind`` of failure, one-line ``message``, and full ``text``."""

    name: str
    suite: str
    outcome: Outcome
    kind: str = ""
    message: str = ""
    text: str = ""
    properties: Mapping[str, str] = {}


def write_junit(
    out: IO[str], name: str, cases: Iterable[Case], properties: Mapping[str, str]
) -> None:
    """Write one suite of test cases; they are read once and not kept in memory.

    Args:
        name: of the suite.
        properties: of the suite.
    """
    counts: Counter[str] = Counter()
    with tempfile.SpooledTemporaryFile(_IN_MEMORY, "w+", encoding="utf-8", newline="\n") as body:
        for case in cases:
            counts[case.outcome] += 1
            body.write(_case(case))
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
        total = (
            f'tests="{counts.total()}" failures="{counts["failure"]}" '
            f'errors="{counts["error"]}" time="0"'
        )
        out.write('<?xml version="1.0" encoding="utf-8"?>\n')
        out.write(f"<testsuites name={_quoted(name)} {total}>\n")
        out.write(
            f'<testsuite name={_quoted(name)} {total} skipped="{counts["skipped"]}" '
            f'timestamp="{now}" hostname="localhost" id="0" package="veridical">\n'
        )
        out.write(_properties(properties))
        body.seek(0)
        shutil.copyfileobj(body, out)
        out.write("</testsuite>\n</testsuites>\n")


def _case(case: Case) -> str:
    head = f"<testcase classname={_quoted(case.suite)} name={_quoted(_short(case.name))}"
    parts = [f'{head} time="0">\n', _properties(case.properties)]
    if case.outcome != "passed":
        parts.append(
            f"<{case.outcome} type={_quoted(case.kind)} message={_quoted(_short(case.message))}>"
            f"{escape(_clean(case.text))}</{case.outcome}>\n"
        )
    return "".join([*parts, "</testcase>\n"])


def _properties(properties: Mapping[str, str]) -> str:
    if not properties:
        return ""
    listed = (
        f"<property name={_quoted(name)} value={_quoted(value)}/>\n"
        for name, value in properties.items()
    )
    return f"<properties>\n{''.join(listed)}</properties>\n"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _quoted(text: str) -> str:
    return quoteattr(_clean(text), {"\n": " ", "\r": " ", "\t": " "})


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
