from __future__ import annotations

import asyncio
import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nli_evidence import FixedVerdicts

import veridical
from veridical.core.passage_verdicts import ENOUGH
from veridical.core.records import Record
from veridical.errors import NotApplicable
from veridical.scorers.grounding._source_windows import windowed
from veridical.scorers.grounding.nli_grounding import nli_grounding
from veridical.text.passages import passages

BORN = "Ada was born in London."
DIED = "Ada died in Paris in 1912."
LONDON = "The city of London is where Ada was born."
PARIS = "Ada died in Rome in 1910."
OTHER = "Charles built engines."


async def score(table=None, response=f"{BORN} {DIED}", contradicts=True, default=None, **fields):
    names = ("samples", "contexts", "reference")
    record = Record(response=response, **{k: fields.pop(k) for k in names if k in fields})
    options = {} if default is None else {"default": default}
    evidence = FixedVerdicts(record, table, contradicts=contradicts, **options)
    return await nli_grounding(record, evidence, **fields), evidence


TABLE = {
    (LONDON, BORN): (0.9, 0.1, 0.0),
    (OTHER, BORN): (0.0, 0.3, 0.7),
    (PARIS, BORN): (0.1, 0.8, 0.1),
    (LONDON, DIED): (0.2, 0.7, 0.1),
    (OTHER, DIED): (0.3, 0.1, 0.6),
    (PARIS, DIED): (0.0, 0.25, 0.75),
}


async def test_best_window_and_the_window_most_about_the_sentence():
    contexts = [OTHER, LONDON, PARIS]
    found, evidence = await score(TABLE, contexts=contexts)
    born, died = found.units
    # the unrelated context says 0.7 contradiction, but is not about it
    assert born.probabilities == pytest.approx(
        {"entailment": 0.9, "neutral": 0.1, "contradiction": 0.0}
    )
    assert (born.risk, born.raw, born.label) == (pytest.approx(0.1), born.risk, "entailment")
    # best window 0.3; most about it 0.75, capped at 0.7
    assert died.probabilities == pytest.approx(
        {"entailment": 0.3, "neutral": 0.0, "contradiction": 0.7}
    )
    assert (died.risk, died.label) == (pytest.approx(0.7), "contradiction")
    assert found.risk == found.raw == died.risk
    (item,) = born.evidence
    assert (item.context, item.text, item.probability) == (1, LONDON, pytest.approx(0.9))
    (item,) = died.evidence
    assert (item.context, item.text, item.probability) == (2, PARIS, pytest.approx(0.75))
    about = [(LONDON, BORN), (PARIS, DIED)]
    # the window most about a sentence first; the others of one that it does not surely entail
    assert evidence.asked[0] == about
    rest = [pair for pairs in evidence.asked[1:] for pair in pairs]
    assert sorted(rest) == [(OTHER, DIED), (LONDON, DIED)]


async def test_risk_of_contradiction():
    found, _ = await score(TABLE, contexts=[OTHER, LONDON, PARIS], risk="contradiction")
    assert [u.raw for u in found.units] == pytest.approx([0.0, 0.7])
    assert found.risk == found.raw == pytest.approx(0.7)


async def test_a_model_without_contradiction():
    table = {(LONDON, BORN): (0.6, 0.4, 0.0)}
    found, _ = await score(table, response=BORN, contexts=[LONDON], contradicts=False)
    assert found.risk == pytest.approx(0.4)
    assert found.units[0].probabilities == {"entailment": 0.6, "neutral": 0.4, "contradiction": 0}
    with pytest.raises(NotApplicable, match="contradiction"):
        await score(
            table, response=BORN, contexts=[LONDON], contradicts=False, risk="contradiction"
        )


async def test_long_contexts_are_read_in_windows_and_evidence_is_one_sentence():
    filler = " ".join(f"Line {i} tells about engines and wheels of brass." for i in range(120))
    context = f"{filler[:2800]}\n\n{LONDON} {filler[2801:]}"
    windows = passages(context)
    (right, *_) = [w for w in windows if LONDON in w.text]
    assert len(windows) > 4
    table = {(right.text, BORN): (0.8, 0.1, 0.1), (LONDON, BORN): (0.7, 0.1, 0.2)}
    found, evidence = await score(
        table, response=BORN, contexts=[OTHER, context], default=(0.05, 0.15, 0.8)
    )
    # of no other window a sentence shares a word with it; a context of one sentence is read
    assert evidence.asked == [[(right.text, BORN), (LONDON, BORN)], [(OTHER, BORN)]]
    _, every = await score(response=BORN, contexts=[OTHER, context], top=0)
    (asked,) = every.asked
    assert asked == [(OTHER, BORN), *((w.text, BORN) for w in windows), (LONDON, BORN)]
    (unit,) = found.units
    assert unit.risk == pytest.approx(1 - (0.8 + 0.7) / 2)
    (item,) = unit.evidence
    assert (item.context, item.text) == (1, LONDON)
    assert context[item.start : item.end] == LONDON


def long_text(*planted, lines=1100):
    """About 55 characters a line on other things, with sentences in different places."""
    lines = [f"Engine {i} of the brass works was in use for {i % 90} years." for i in range(lines)]
    for n, sentence in enumerate(planted, start=1):
        lines.insert(n * len(lines) // (len(planted) + 1), sentence)
    return " ".join(lines)


async def test_windows_that_cannot_matter_are_left_out():
    context = long_text(LONDON, PARIS)
    windows = [w.text for w in passages(context)]
    (right,) = [w for w in windows if LONDON in w]
    (wrong,) = [w for w in windows if PARIS in w]
    table = {(right, BORN): (0.9, 0.1, 0.0), (wrong, DIED): (0.0, 0.25, 0.75)}
    table[LONDON, BORN] = (0.9, 0.1, 0.0)
    unlikely = (0.02, 0.88, 0.1)
    found, evidence = await score(table, contexts=[context], default=unlikely)
    every, whole = await score(table, contexts=[context], default=unlikely, top=0)
    assert [u.model_dump() for u in found.units] == [u.model_dump() for u in every.units]
    assert [u.label for u in found.units] == ["entailment", "contradiction"]
    assert [e.text for u in found.units for e in u.evidence] == [LONDON, PARIS]
    few, (every_pair,) = [p for pairs in evidence.asked for p in pairs], whole.asked
    assert {(LONDON, BORN), (PARIS, DIED)} < set(few)
    few, all_pairs = ([p for p in pairs if p[0] in windows] for pairs in (few, every_pair))
    assert all_pairs == [(w, s) for s in (BORN, DIED) for w in windows]
    assert {(right, BORN), (wrong, DIED)} < set(few) < set(all_pairs)
    assert len(few) <= 2 * 9 < len(all_pairs) / 5


async def test_the_window_most_about_a_sentence_is_always_judged():
    # by BM25 the shorter windows are the better ones; the long one shares the most rare words
    names = "Ada Byron, Charles Babbage, Luigi Menabrea and Mary Somerville"
    about = f"{names} {'met and wrote long letters on many a thing ' * 60}."
    short = [f"Ada Byron, Charles Babbage, Luigi Menabrea: letter {i}." for i in range(400)]
    contexts = [*short, about]
    response = f"{names} never met."
    table = {(about, response): (0.0, 0.1, 0.9)}
    found, evidence = await score(table, response=response, contexts=contexts, top=1)
    (asked, *more) = evidence.asked
    assert (about, response) in asked
    assert len(asked) + sum(map(len, more)) < 30
    (unit,) = found.units
    assert unit.label == "contradiction"
    (item,) = unit.evidence
    assert (item.context, item.probability) == (400, pytest.approx(0.9))


async def test_many_small_contexts_are_read_as_far_as_a_few_long_ones():
    ordinary = [f"Engine {i} was made of brass." for i in range(300)]  # 8 400 characters
    read = functools.partial(windowed, against="contexts", top=8)
    record = Record(response=BORN, contexts=[*ordinary, LONDON])
    ((reading,),) = read(record, FixedVerdicts(record)).readings
    assert len(reading.read) == 301
    many = [f"Engine {i} of the brass works was in use for {i % 90} years." for i in range(900)]
    record = Record(response=BORN, contexts=[*many, LONDON])
    found = read(record, FixedVerdicts(record))
    ((reading,),) = found.readings
    assert LONDON in [found.premises[i] for i in reading.read]
    assert 9000 < sum(len(found.premises[i]) for i in reading.read) <= 9600


async def test_each_sample_is_screened_by_itself():
    texts = [long_text(LONDON), long_text(PARIS), "Nothing."]
    _, evidence = await score(samples=texts, against="samples", response=BORN)
    asked = [pair for pairs in evidence.asked for pair in pairs]
    asked = [pair for pair in asked if len(pair[0]) > 100 or pair[0] == "Nothing."]
    assert ("Nothing.", BORN) in asked
    assert sum(LONDON in p for p, _ in asked) == sum(PARIS in p for p, _ in asked) == 1
    assert len(asked) <= 2 * 9 + 1


def test_a_long_text_by_the_embedded_model():
    row = {"response": f"{BORN} {DIED}", "contexts": long_text(LONDON, PARIS, lines=150)}
    found, requests = {}, {}
    for name in ("nli_grounding(top=2)", "nli_grounding(top=0)"):
        with veridical.Engine(processes=0, store=None) as engine:
            (result,) = veridical.check([row], name, engine=engine)
            (work,) = engine.work().values()
        found[name], requests[name] = result.scores[name], work.requests
    screened, whole = found.values()
    windows = len(passages(row["contexts"]))
    # two sentences of each window are read alone
    assert requests["nli_grounding(top=2)"] <= 3 * 2 * 3 < requests["nli_grounding(top=0)"]
    assert 2 * windows < requests["nli_grounding(top=0)"] <= 3 * 2 * windows
    assert screened.units[0].label == "entailment"
    assert LONDON in [e.text for e in screened.units[0].evidence]
    assert screened.units[0].risk == pytest.approx(whole.units[0].risk, abs=1e-5)
    assert screened.risk == pytest.approx(whole.risk, abs=0.05)  # of a sentence nothing tells of
    assert "|top:2" in screened.signature
    assert "|top:0" in whole.signature


async def test_mean_over_samples_and_the_best_reference():
    texts = [PARIS, LONDON]
    found, _ = await score(TABLE, samples=texts, against="samples")
    born, died = found.units
    assert born.risk == pytest.approx(1 - (0.1 + 0.9) / 2)
    assert died.probabilities == pytest.approx(
        # LONDON says nothing of a death
        {"entailment": 0.1, "neutral": (0.25 + 0.8) / 2, "contradiction": 0.75 / 2}
    )
    assert sum(born.probabilities.values()) == pytest.approx(1)
    assert [(e.kind, e.index) for e in born.evidence] == [("sample", 1), ("sample", 0)]
    found, _ = await score(TABLE, reference=texts, against="reference")
    assert [u.risk for u in found.units] == pytest.approx([0.1, 0.8])
    assert {e.kind for u in found.units for e in u.evidence} == {"reference"}


async def test_equal_text_and_blank_context():
    found, _ = await score(response=BORN, contexts=["  ", BORN])
    assert found.risk == 0
    assert [(e.index, e.text) for e in found.units[0].evidence] == [(1, BORN)]
    with pytest.raises(NotApplicable, match="no contexts"):  # nothing to check against
        await score(response=BORN, contexts=["  "])


async def test_what_it_does_not_apply_to():
    for record in (
        Record(response=BORN, samples=[BORN]),
        Record(response=" ", contexts=[BORN]),
        Record(response=BORN, contexts=[BORN], sentences=[[0, 0]]),
    ):
        with pytest.raises(NotApplicable):
            await nli_grounding(record, FixedVerdicts(record))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(*[st.integers(0, 9)] * 3).filter(any), min_size=1, max_size=4),
    st.sampled_from(["contexts", "samples"]),
    st.randoms(),
)
def test_properties(parts, against, random):
    rows = [tuple(np.array(p) / sum(p)) for p in parts]
    # "w0" alone is about the unit, so that the order of the others cannot matter
    texts = [f"w{i} stands." for i in range(len(rows))]
    unit = "Is it w0?"
    table = {(t, unit): row for t, row in zip(texts, rows, strict=True)}

    def run(texts, risk):
        return asyncio.run(
            score(table, response=unit, **{against: texts}, against=against, risk=risk)
        )[0]

    found = run(texts, "nonentailment")
    (u,) = found.units
    p = u.probabilities
    assert sum(p.values()) == pytest.approx(1, abs=1e-8)
    assert all(0 <= x <= 1 for x in p.values())
    assert p[u.label] == max(p.values())
    e = np.array([row[0] for row in rows])
    best = e[0] if e[0] >= ENOUGH else e.max()  # what entails surely is not compared
    assert found.risk == pytest.approx(1 - (best if against == "contexts" else e.mean()))
    contradicted = run(texts, "contradiction").risk
    if against == "contexts":
        assert contradicted == pytest.approx(min(rows[0][2], 1 - best), abs=1e-9)
    random.shuffle(texts)
    assert run(texts, "nonentailment").risk == pytest.approx(found.risk, abs=1e-12)
    assert run(texts, "contradiction").risk == pytest.approx(contradicted, abs=1e-12)


async def test_small_talk_is_not_judged():
    found, evidence = await score(
        TABLE, response=f"Sure! {BORN} I hope this helps.", contexts=[LONDON]
    )
    assert [(u.text, u.start, u.risk) for u in found.units] == [
        ("Sure!", 0, None),
        (BORN, 6, pytest.approx(0.1)),
        ("I hope this helps.", 30, None),
    ]
    assert evidence.asked == [[(LONDON, BORN)]]
    found, evidence = await score(TABLE, response=f"Yes, {BORN}", contexts=[LONDON])
    (unit,) = found.units  # of the whole sentence, judged without what leads in
    assert (unit.text, evidence.asked) == (f"Yes, {BORN}", [[(LONDON, BORN)]])
    with pytest.raises(NotApplicable, match="states nothing"):
        await score(TABLE, response="Sure! I hope this helps.", contexts=[LONDON])


def test_flagged_units_have_a_kind_and_good_ones_none() -> None:
    result = veridical.check_one(
        "Hamlet has 30 acts. Hamlet is a play. Dancers performed bananas daily.",
        contexts=["Hamlet is a play. It has 5 acts. Hamlet has 5 acts."],
        scorers="nli_grounding",
        nli="mini",
        store=None,
    )
    found = {u.text: u for u in result.scores["nli_grounding"].units}
    assert found["Hamlet has 30 acts."].kind == "figure"
    assert found["Hamlet is a play."].kind is None
    assert found["Dancers performed bananas daily."].kind == "addition"
    by_default = veridical.check_one(
        "Hamlet has 30 acts. In total it has 9 scenes. Dancers performed bananas daily.",
        contexts=["Hamlet is a play. Hamlet has 5 acts. The first has 3 scenes, the second 4."],
        nli="mini",
        store=None,
    )
    bad = ("contradiction", "neutral", "unsupported")
    flagged = [u for u in by_default.spans if u.label in bad]
    assert {"figure", "computed"} <= {u.kind for u in flagged}
    assert all(u.kind is not None for u in flagged)
