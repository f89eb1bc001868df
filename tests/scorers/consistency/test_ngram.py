from __future__ import annotations

from math import log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veridical
from veridical.core.evidence import LocalEvidence, score_locally
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.core.resolving import resolve
from veridical.errors import UsageError
from veridical.scorers.consistency.ngram import _risk, count_model, ngrams, presence_model


def score(response, samples, spec="ngram", **fields):
    record = Record(response=response, samples=samples, **fields)
    return score_locally(record, REGISTRY.parse(spec))[0]


def test_ngrams_pad_the_left():
    assert ngrams(["A", "b"], 1) == ["a", "b"]
    assert ngrams(["A", "b"], 3) == [(None, None, "a"), (None, "a", "b")]
    assert list(ngrams([], 1)) == list(ngrams([], 2)) == []


def test_left_out_unigrams_by_hand():
    """Sources: cat 2, sat 1, ran 1 (N = 4); with 'dog' V = 4, so p = (count + 1) / 8."""
    got = score("Cat dog", ["cat sat", "cat ran"])
    assert got.raw == pytest.approx(log(8 / 1))
    assert got.risk == pytest.approx(log(8) / (log(8) + 5))
    average = score("Cat dog", ["cat sat", "cat ran"], "ngram(stat=avg)")
    assert average.raw == pytest.approx((log(8 / 3) + log(8)) / 2)
    doubled = score("Cat dog", ["cat sat", "cat ran"], "ngram(k=2)")
    assert doubled.raw == pytest.approx(log(12 / 2))


def test_case_can_be_kept():
    """'Cat' is another word than 'cat': counts of cat 2, sat 1, ran 1 and Cat 0 (N = 4, V = 4)."""
    kept = score("Cat", ["cat sat", "cat ran"], "ngram(lowercase=false)")
    assert kept.raw == pytest.approx(log(8 / 1))
    assert score("Cat", ["cat sat", "cat ran"]).raw == pytest.approx(log(7 / 3))
    assert score("Cat", ["Cat sat"], "ngram(lowercase=false)").units[0].evidence[0].text == "Cat"
    assert "lowercase" not in score("Cat", ["cat"]).signature  # as in what was tuned before it
    assert "|lowercase:false|" in kept.signature
    assert ngrams(["A", "b"], 2, lowercase=False) == [(None, "A"), ("A", "b")]


def test_published_unigrams_by_hand():
    """Response counted in: cat 3, dog 1, sat 1, ran 1 (N = 6), no smoothing."""
    got = score("Cat dog", ["cat sat", "cat ran"], "ngram(counting=paper)")
    assert got.raw == pytest.approx(log(6))
    average = score("Cat dog", ["cat sat", "cat ran"], "ngram(counting=paper, stat=avg)")
    assert average.raw == pytest.approx((log(6 / 3) + log(6)) / 2)


def test_published_bigrams_by_hand():
    """Sentences 'a b .' 'b c .' and sample 'a b . b .': bigrams start at each sentence."""
    spec = "ngram(n=2, counting=paper)"
    got = score("Aa bb. Bb cc.", ["Aa bb. Bb."], spec, sentences=[[0, 6], [7, 13]])
    # response: <s>aa, aa bb, bb . | <s>bb, bb cc, cc .   sample: <s>aa, aa bb, bb . | <s>bb, bb .
    # joint counts of 11: <s>aa 2, aa bb 2, bb . 3, <s>bb 2, bb cc 1, cc . 1
    first, second = got.units
    assert first.raw == pytest.approx(log(11 / 2))
    assert second.raw == pytest.approx(log(11 / 1))
    assert got.raw == pytest.approx((log(11 / 2) + log(11)) / 2)
    average = score(
        "Aa bb. Bb cc.", ["Aa bb. Bb."], "ngram(n=2,counting=paper,stat=avg)",
        sentences=[[0, 6], [7, 13]],
    )  # fmt: skip
    expected = [log(11 / c) for c in (2, 2, 3, 2, 1, 1)]
    assert average.raw == pytest.approx(sum(expected) / 6)
    assert average.units[0].raw == pytest.approx(sum(expected[:3]) / 3)


def test_presence_by_hand():
    """'cat' is in 2 of 3 samples, 'dog' in none: p = (df + 1) / (3 + 2)."""
    samples = ["cat cat cat", "a cat", "b"]
    got = score("Cat dog", samples, "ngram_presence")
    assert got.raw == pytest.approx(log(5 / 1))
    assert got.risk == pytest.approx(log(5) / (log(5) + 1))
    average = score("Cat dog", samples, "ngram_presence(stat=avg)")
    assert average.raw == pytest.approx((log(5 / 3) + log(5)) / 2)


def test_probabilities_sum_to_one():
    response, sources = [ngrams("abcd", 2)], [[ngrams("abx", 2)]]
    for counting in ("leave_out", "paper"):
        model = count_model(response, sources, counting, 0.5)
        every = set(response[0]) | set(sources[0][0])
        assert sum((model.counts[g] + 0.5) / model.total for g in every) == pytest.approx(1)
    assert presence_model(sources, 1.0).surprisals(["z"]) == [pytest.approx(log(3))]


def test_evidence_is_the_rarest_word_where_it_does_occur():
    samples = ["The cat sat. THE  dog.", "A cat", "the end"]
    got = score("The cat", samples)  # the 3, cat 2
    items = got.units[0].evidence
    assert [(e.kind, e.index, e.start, e.end, e.text) for e in items] == [
        ("sample", 0, 4, 7, "cat"),
        ("sample", 1, 2, 5, "cat"),
    ]
    assert score("zebra", samples).units[0].evidence == ()


def test_evidence_of_a_bigram_spans_both_words():
    samples = ["So. The  cat ran", "The dog"]
    got = score("The cat", samples, "ngram(n=2)")  # <s>the 2, the cat 1
    (item,) = got.units[0].evidence
    assert (item.text, item.start, item.end) == ("The  cat", 4, 12)


def test_scorers_of_a_record_share_its_ngrams():
    record = Record(response="Cat", samples=["the cat. the dog"])
    counts, presence = score_locally(record, REGISTRY.parse("ngram, ngram_presence"))
    for got, name in ((counts, "ngram"), (presence, "ngram_presence")):
        assert got == score_locally(record, REGISTRY.parse(name))[0]
    assert counts.units[0].evidence[0] is presence.units[0].evidence[0]


def test_what_is_made_once_is_kept_and_what_fails_is_not():
    evidence = LocalEvidence(Record(response="a"))
    made = []
    for _ in range(2):
        assert evidence.once(("test", 1), lambda: made.append(1)) is None
        with pytest.raises(ZeroDivisionError):
            evidence.once("test", lambda: made.append(2) or 1 / 0)
    assert made == [1, 2, 2]


def test_other_sources():
    record = Record(response="cat", contexts=["cat", "dog"], reference="cat")
    for against in ("contexts", "reference"):
        for name in ("ngram", "ngram_presence"):
            (got,) = score_locally(record, REGISTRY.parse(f"{name}(against={against})"))
            assert got.status == "scored"
            assert got.units[0].evidence[0].kind == against.removesuffix("s")


@pytest.mark.parametrize("name", ["ngram", "ngram_presence"])
def test_not_applicable(name):
    for response, samples in (("", ["a"]), ("...", ["a"]), ("a", []), ("a", [" "]), ("a", [""])):
        got = score(response, samples, name)
        assert got.status == "not_applicable" and got.reason and got.risk is None
    assert score("a b", ["a"], name, sentences=[]).status == "not_applicable"
    got = score("a  b", ["a"], name, sentences=[[0, 1], [1, 3], [3, 4]])
    assert [u.raw is None for u in got.units] == [False, True, False]


def test_bad_parameters():
    for spec in ("ngram(n=6)", "ngram(stat=sum)", "ngram(counting=all)"):
        with pytest.raises(UsageError):
            REGISTRY.parse(spec)
    for spec in ("ngram(k=-1)", "ngram(k=1e999)", "ngram(k=1e9)", "ngram_presence(k=0)"):
        with pytest.raises(UsageError, match=r"^ngram(_presence)?\(k="):
            REGISTRY.parse(spec)
    with pytest.raises(UsageError, match=r"^ngram\(k=0.0\): k must be above 0"):
        resolve("ngram(k=0)")
    assert resolve("ngram(k=0, counting=paper)")


@given(st.lists(st.floats(0, 60), min_size=2, max_size=2, unique=True))
def test_risk_is_strictly_increasing(values):
    low, high = sorted(values)
    for scale in (1.0, 5.0):
        assert 0 <= _risk(low, scale) <= _risk(high, scale) < 1
        if high - low > 1e-9:
            assert _risk(low, scale) < _risk(high, scale)


@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=3), st.integers(1, 3))
@settings(max_examples=200, deadline=None)
def test_any_text_is_scored_or_said_not_to_be(response, samples, n):
    from veridical.core.records import clean_text

    try:
        [clean_text(t) for t in (response, *samples)]
    except ValueError:
        return
    for spec in (f"ngram(n={n})", f"ngram(n={n},counting=paper)", f"ngram_presence(n={n})"):
        got = score(response, samples, spec)
        assert got.status != "failed", got.reason
        for unit in got.units:
            assert response[unit.start : unit.end] == unit.text
            for e in unit.evidence:
                assert samples[e.index][e.start : e.end] == e.text != ""


#: SelfCheckGPT table 7, fractions: NonFact, NonFact*, Factual (trapezoid), Pearson, Spearman.
PRINTED = {
    "ngram(n=1,stat=avg,counting=paper": (0.8152, 0.4033, 0.4176, 0.4068, 0.3922),
    "ngram(n=1,stat=max,counting=paper": (0.8563, 0.4104, 0.5847, 0.6471, 0.6491),
    "ngram(n=2,stat=max,counting=paper": (0.8526, 0.3929, 0.5829, 0.6248, 0.6604),
}


def table_7(shared_data, scorers):
    """The five figures of each scorer on WikiBio-GPT3."""
    made = veridical.bench("wikibio", shared_data / "wikibio_gpt3", ", ".join(scorers), bootstrap=0)
    values = {(r.scorer, r.split, r.metric): r.value for r in made.rows}
    columns = [(split, "trapezoid_pr") for split in ("nonfact", "nonfact_star", "factual")]
    columns += [("passage", "pearson"), ("passage", "spearman")]
    keys = [REGISTRY.parse(scorer)[0].key for scorer in scorers]
    return [tuple(values[(key, *column)] for column in columns) for key in keys]


@pytest.mark.data
def test_wikibio_table_7_with_builtin_words_and_left_out_is_better(shared_data):
    """Within 0.02 is required of another tokenizer; within 0.005 it was when written."""
    scorers = [*(scorer + ")" for scorer in PRINTED), "ngram", "ngram_presence"]
    *published, counts, presence = table_7(shared_data, scorers)
    for found, printed in zip(published, PRINTED.values(), strict=True):
        assert found == pytest.approx(printed, abs=0.005)
    # as measured apart from this code
    assert counts == pytest.approx((0.8848, 0.4520, 0.6068, 0.6940, 0.7006), abs=0.002)
    assert presence[3:] == pytest.approx((0.6838, 0.6950), abs=0.002)


@pytest.mark.data
@pytest.mark.spacy
@pytest.mark.parametrize("scorer", PRINTED)
def test_wikibio_table_7_with_spacy(shared_data, scorer):
    pytest.importorskip("spacy")
    from veridical.text.spacy_text import spacy_words

    try:
        spacy_words("")
    except UsageError as e:
        pytest.skip(str(e))
    (found,) = table_7(shared_data, [scorer + ",tokenizer=spacy)"])
    assert found == pytest.approx(PRINTED[scorer], abs=0.0015)
