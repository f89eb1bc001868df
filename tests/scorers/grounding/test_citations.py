"""Citations: each must exist, and the passage it names must support the sentence."""

from __future__ import annotations

import pytest
from hostile import TEXTS
from hypothesis import given, settings
from hypothesis import strategies as st
from nli_evidence import FixedVerdicts

from veridical.core.records import Record
from veridical.errors import NotApplicable
from veridical.scorers.grounding.citations import citations

LEAD, TIN = "Lead is a soft metal. It is dense.", "Tin melts at 232 degrees."
YES, NO = (0.9, 0.1, 0.0), (0.1, 0.2, 0.7)


async def score(response, table=None, contexts=(LEAD, TIN), prompt=None, **options):
    record = Record(response=response, contexts=contexts, prompt=prompt)
    evidence = FixedVerdicts(record, table)
    return await citations(record, evidence, **options), evidence


def labels(found):
    return [u.label for u in found.units]


async def test_only_the_cited_passage_supports():
    table = {(LEAD, "Lead is soft."): YES, (TIN, "Lead is soft."): NO}
    right, evidence = await score("Lead is soft [1].", table)
    wrong, _ = await score("Lead is soft [2].", table)
    assert evidence.asked == [[(LEAD, "Lead is soft.")]]  # no other passage, and no marker
    (unit,) = right.units
    assert (unit.risk, unit.label, unit.text) == (
        pytest.approx(0.1),
        "supported",
        "Lead is soft [1].",
    )
    (item,) = unit.evidence
    assert (item.kind, item.context, item.text) == ("context", 0, "Lead is a soft metal.")
    assert (wrong.risk, labels(wrong)) == (pytest.approx(0.9), ["unsupported"])
    assert (wrong.raw["recall"], wrong.raw["precision"]) == (0.0, 0.0)


async def test_what_is_not_there_is_missing():
    found, evidence = await score("Lead is soft [3]. Tin is soft [1, 0]. Zinc is soft [2-9].")
    assert labels(found) == ["missing"] * 3
    assert found.risk == 1.0
    assert found.raw["not_found"] == ["3", "0", "3-9"]
    assert found.raw["missing"] == 3
    assert evidence.asked[0][0] == (LEAD, "Tin is soft.")  # what is there is shown all the same


async def test_an_id_goes_before_a_position():
    contexts = [{"id": "2", "text": LEAD}, {"id": "x.md", "text": TIN}]
    table = {(LEAD, "Lead is soft."): YES, (TIN, "Tin melts."): YES}
    found, _ = await score("Lead is soft [2]. Tin melts [x.md].", table, contexts)
    assert labels(found) == ["supported", "supported"]
    missing, _ = await score("Tin melts [x2.md].", contexts=[{"id": "x1.md", "text": TIN}])
    assert missing.raw["not_found"] == ["x2.md"]  # it differs from an id in its number alone
    assert labels(missing) == ["missing"]


async def test_a_marker_after_the_sentence_belongs_to_it():
    table = {(LEAD, "Lead is soft."): YES, (TIN, "Tin melts."): YES}
    found, _ = await score("Lead is soft. [1] Tin melts. [2]", table)
    lines, _ = await score("Lead is soft.\n\n[1] Tin melts.\n\n[2]", table)
    assert labels(found) == ["supported", "supported"]
    assert labels(lines) == ["supported", "supported", "list"]


async def test_of_several_passages_one_must_do_or_all_together():
    both = f"{LEAD}\n{TIN}"
    text = "Lead is soft and tin melts."
    one, _ = await score("Lead is soft and tin melts [1, 2].", {(TIN, text): YES})
    joined, evidence = await score("Lead is soft and tin melts [1][2].", {(both, text): YES})
    assert (one.risk, one.raw["precision"]) == (pytest.approx(0.1), 0.5)
    assert (joined.risk, joined.raw["precision"]) == (pytest.approx(0.1), 0.0)
    assert evidence.asked == [[(LEAD, text), (TIN, text), (both, text)]]


async def test_a_quotation_must_be_there_word_for_word():
    table = {(LEAD, 'It says "lead is a soft metal".'): YES}
    right, _ = await score('It says "lead is a soft metal" [1].', table)
    assert labels(right) == ["supported"]
    other, _ = await score('It says "lead is a soft metal" [2].', table)
    assert (labels(other), other.risk) == (["misquoted"], 1.0)
    assert other.units[0].evidence[0].text == "Lead is a soft metal"  # where it is
    made, _ = await score('It says "lead is a hard metal".')
    assert (labels(made), made.raw["not_verbatim"]) == (["misquoted"], ["lead is a hard metal"])
    free, evidence = await score('It says "lead is a soft metal".', table)
    assert labels(free) == ["supported"]
    assert evidence.asked == [[(LEAD, 'It says "lead is a soft metal".')]]


async def test_a_quotation_of_the_prompt_is_none_of_a_context():
    asked = "Why do they say lead is good for you?"
    with pytest.raises(NotApplicable, match="cites nothing"):
        await score('You asked "why do they say lead is good for you".', prompt=asked)


async def test_links():
    page = {"id": "https://www.x.org/lead/", "text": LEAD}
    inside = f"{TIN} From http://y.org/tin#top."
    table = {(LEAD, "Lead is soft (http://x.org/lead)."): YES}
    found, _ = await score(
        "Lead is soft (http://x.org/lead). Tin: https://y.org/tin. Zinc: https://z.org.",
        table,
        [page, inside],
    )
    assert labels(found) == ["supported", "unsupported", "missing"]
    with pytest.raises(NotApplicable, match="but no context has a link"):
        await score("Lead is soft (http://x.org/lead).")


async def test_sentences_without_a_citation_are_apart_or_risky():
    response = "Lead is soft [1]. It is grey. What else?"
    table = {(LEAD, "Lead is soft."): YES}
    apart, _ = await score(response, table)
    risky, _ = await score(response, table, uncited="risky")
    assert [u.risk for u in apart.units] == [pytest.approx(0.1), None, None]
    assert (apart.risk, apart.raw["uncited"]) == (pytest.approx(0.1), 2)
    assert [u.risk for u in risky.units] == [pytest.approx(0.1), 1.0, 1.0]
    assert risky.risk == 1.0
    assert apart.raw["recall"] == pytest.approx(1 / 3)


async def test_a_response_without_citations():
    with pytest.raises(NotApplicable, match="cites nothing"):
        await score("Lead is soft.")
    risky, evidence = await score("Lead is soft.", uncited="risky")
    assert (risky.risk, evidence.asked) == (1.0, [])
    with pytest.raises(NotApplicable, match="empty"):
        await score(" ")


async def test_entries_of_a_list_of_sources_state_nothing():
    found, _ = await score(
        "Lead is soft [1].\n\nReferences:\n[1] Smith.\n[2] Wu.", {(LEAD, "Lead is soft."): YES}
    )
    assert labels(found)[0] == "supported"
    assert set(labels(found)[1:]) == {"list"}
    beyond, _ = await score("Lead is soft [1].\n\nSources:\n[7] Smith.")
    assert beyond.risk == 1.0  # but what is listed must be there


async def test_a_blank_passage_supports_nothing():
    found, evidence = await score("Lead is soft [1].", contexts=[" ", TIN])
    assert (found.risk, labels(found), evidence.asked) == (1.0, ["unsupported"], [])


async def test_other_scripts():
    contexts = ["铅是一种软金属。", "锡的熔点是232度。"]
    found, _ = await score("铅很软【1】。锡很硬【3】。", {(contexts[0], "铅很软。"): YES}, contexts)
    assert labels(found) == ["supported", "missing"]


async def test_thousands_of_citations():
    contexts = [f"Fact {i} is that engine {i} has {i} wheels." for i in range(200)]
    response = " ".join(f"Engine {i} has wheels [{i % 250}] [1-{i % 999}]." for i in range(3000))
    found, _ = await score(response, contexts=contexts)
    assert len(found.units) == 3000
    assert found.raw["citations"] == 6000
    assert len(found.raw["not_found"]) == 20
    assert len(found.model_dump_json()) < 5_000_000


PIECES = [
    "Lead is soft",
    " [1]",
    "[2]",
    "[9]",
    "[1-3]",
    ". ",
    "\n\n",
    '"lead is a soft metal"',
    " ",
]
PIECES += ["Sources:", "https://x.org", "`[1]`", "(source 2)", "?", "“", "[x]", "é"]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=14).map("".join))
async def test_any_response_has_a_unit_for_each_sentence_or_does_not_apply(response):
    record = Record(response=response, contexts=[LEAD, {"id": "x", "text": TIN}])
    try:
        found = await citations(record, FixedVerdicts(record), uncited="risky")
    except NotApplicable:
        return
    assert [(u.start, u.end) for u in found.units] == [(s.start, s.end) for s in record.sentences]
    known = [u.risk for u in found.units if u.risk is not None]
    assert found.risk == max(known)
    assert (found.raw["missing"] > 0) == ("missing" in labels(found))
    for unit in found.units:
        assert (unit.risk is None) == (unit.label in ("list", "unknown"))
        for item in unit.evidence:
            assert record.contexts[item.context].text[item.start : item.end] == item.text


@pytest.mark.parametrize("text", TEXTS)
async def test_hostile_texts(text):
    record = Record(response=f"{text} [1] [2] {text} [9].", contexts=[text or "x", text])
    found = await citations(record, FixedVerdicts(record))
    assert found.risk == 1.0
