"""JUnit XML: valid, counted, and hostile text as text."""

from __future__ import annotations

import io
from xml.etree import ElementTree

import pytest
from ci_schemas import JUNIT
from hostile import TEXTS

from veridical.integrations.ci.junit import Case, write_junit


def written(*cases: Case) -> str:
    out = io.StringIO()
    write_junit(out, "suite", cases, {"run": "here"})
    return out.getvalue()


def test_counts_and_properties() -> None:
    text = written(
        Case("a", "s", "passed", properties={"risk": "0.1"}),
        Case("b", "s", "failure", "contradicted", "no", "It is not."),
        Case("c", "s", "error", "invalid-row", "broken", "it broke"),
        Case("d", "s", "skipped", "unchecked", "why", "why"),
    )
    root = ElementTree.fromstring(text)
    suite = root.find("testsuite")
    assert suite is not None
    counts = {k: suite.get(k) for k in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "4", "failures": "1", "errors": "1", "skipped": "1"}
    assert suite.find("testcase/properties/property").attrib == {"name": "risk", "value": "0.1"}  # type: ignore[union-attr]
    failure = suite.find("testcase/failure")
    assert failure is not None and failure.text == "It is not."


def test_any_text_gives_valid_xml_that_holds_it_as_text() -> None:
    etree = pytest.importorskip("lxml.etree")
    schema = etree.XMLSchema(etree.fromstring(JUNIT))
    texts = [*TEXTS, "]]><failure/>", '"/><script>', "\x00\x08\ud800\ufffe", "a" * 5_000, "&amp;"]
    text = written(*(Case(t, t, "failure", "kind", t, t, {"risk": "0.5", "id": t}) for t in texts))
    document = etree.fromstring(text.encode("utf-8", "strict"))
    schema.assertValid(document)
    assert len(document.findall(".//testcase")) == len(texts)
    assert len(document.findall(".//failure")) == len(texts)
    assert not document.findall(".//script")


def test_another_reader_reads_it() -> None:
    junitparser = pytest.importorskip("junitparser")
    found = junitparser.JUnitXml.fromstring(
        written(Case("a", "s", "failure", "contradicted", "no", "It is not.")).encode()
    )
    (suite,) = found
    (case,) = suite
    assert (suite.failures, case.name, case.result[0].text) == (1, "a", "It is not.")
