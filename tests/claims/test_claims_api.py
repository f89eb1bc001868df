from __future__ import annotations

import subprocess
import sys
from dataclasses import fields

import pytest
from fake_models import FakeNli

import veridical
from veridical.claims import Claim, Extraction
from veridical.claims.api import ClaimCheckKeywords, ClaimCheckOptions
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.engine.options import ModelKeywords
from veridical.errors import ModelError, NotApplicable, UsageError

ANSWER = "Ada was born in London. She was a countess."
SOURCES = ["Ada was born in London.", "Ada was no countess."]


@pytest.fixture
def fake(monkeypatch):
    countess = "Ada was a countess."
    model = FakeNli(
        {(SOURCES[0], countess): (0.1, 0.8, 0.1), (SOURCES[1], countess): (0, 0.1, 0.9)}
    )
    monkeypatch.setattr("veridical.models.load_nli", lambda spec, **_: model)
    return model


def test_the_package_is_light_and_knows_its_names():
    code = (
        "import sys, veridical.claims as c; "
        "assert not {'numpy', 'scipy', 'onnxruntime'} & set(sys.modules), 'heavy'; "
        "import veridical; assert veridical.claims is c; "
        "[getattr(c, n) for n in c.__all__]; assert dir(c) == c.__all__"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'checks'"):
        veridical.claims.checks  # noqa: B018


def test_extract():
    found = veridical.claims.extract(ANSWER, extractor="sentences")
    assert isinstance(found, Extraction)
    assert [(c.text, c.start, c.end, c.sentence) for c in found.claims] == [
        ("Ada was born in London.", 0, 23, 0),
        ("She was a countess.", 24, 43, 1),
    ]
    given = Record(response=ANSWER, sentences=[[0, 3]])
    (claim,) = veridical.claims.extract(given, extractor="sentences").claims
    assert claim.text == "Ada"
    assert veridical.claims.extract("I don't know.", extractor="sentences").abstained
    with pytest.raises(NotApplicable, match="empty"):
        veridical.claims.extract("  ")
    with pytest.raises(UsageError, match="unknown claim extractor 'words'"):
        veridical.claims.extract(ANSWER, extractor="words")


def test_check(fake):
    found = veridical.claims.check(
        ["Ada was born in London.", "Ada was a countess."], SOURCES, checker="nli"
    )
    assert [v.label for v in found] == ["entailment", "contradiction"]
    assert [v.claim.text for v in found] == ["Ada was born in London.", "Ada was a countess."]
    assert found[0].risk == 0
    (item,) = found[1].evidence
    assert (item.kind, item.index, item.text) == ("context", 1, SOURCES[1])
    assert found[1].says == ("contradiction",)
    assert found[1].category == "contradiction/other"
    (alone,) = veridical.claims.check(Claim("Ada was born in London.", 0, 0, 0), SOURCES[0])
    assert alone.label == "entailment"
    assert veridical.claims.check([], SOURCES) == []


def test_check_says_what_is_wrong(fake):
    for passages in ([], "", ["", ""]):
        with pytest.raises(UsageError, match="passages must not be empty"):
            veridical.claims.check("x", passages)
    with pytest.raises(UsageError, match="unknown claim checker"):
        veridical.claims.check("x", "y", checker="guess")
    with pytest.raises(UsageError, match="top must be"):
        veridical.claims.check("x", "y", top=0)
    fake._fail_on = lambda pair: True
    with pytest.raises(ModelError, match="told to fail"):
        veridical.claims.check("x", "y")


@pytest.mark.parametrize(
    ("keywords", "answer"),
    [
        ({"cheker": "nli"}, "unknown option 'cheker'; did you mean 'checker'"),
        ({"embeder": "minilm"}, "unknown option 'embeder'; did you mean 'embedder'"),
        ({"engin": None}, "unknown option 'engin'; did you mean 'engine'"),
        ({"merge": "abuot"}, "unknown way to merge 'abuot'; did you mean 'about'"),
        ({"select": "bm52"}, "unknown way to select 'bm52'; did you mean 'bm25'"),
        ({"top": "3"}, "top must be a whole number, not '3'"),
        ({"window": 3}, "window must be at least 100 characters, not 3"),
    ],
)
def test_an_option_that_does_not_fit_is_named(keywords, answer):
    with pytest.raises(UsageError) as refused:
        veridical.claims.check("x", "y", **keywords)
    assert answer in str(refused.value)


def test_an_unknown_option_of_extract_is_named():
    with pytest.raises(UsageError, match="did you mean 'extractor'"):
        veridical.claims.extract(ANSWER, extractr="sentences")


def test_options_of_check_are_those_of_the_scorer():
    declared = {spec.name: spec for spec in fields(ClaimCheckOptions)}
    keywords = {n: t.__forward_arg__ for n, t in ClaimCheckKeywords.__annotations__.items()}
    assert keywords == {n: str(s.type) for n, s in declared.items()} | {
        n: t.__forward_arg__ for n, t in ModelKeywords.__annotations__.items()
    }
    parameters = REGISTRY.get("claims").parameters
    for name in declared.keys() - {"response", "prompt"}:
        assert declared[name].default in (None, parameters[name].default), name


def test_ground_is_the_scorer(fake):
    rows = [{"response": ANSWER, "contexts": SOURCES}, {"response": ANSWER}]
    found = list(veridical.claims.ground(rows, extractor="sentences", aggregate="soft"))
    (scorer,) = found[0].scores
    assert scorer == "claims(aggregate=soft,extractor=sentences)"
    assert [r.scores[scorer].status for r in found] == ["scored", "not_applicable"]
    assert len(found[0].scores[scorer].units) == 2


def test_a_warm_engine_is_used_and_left_open(fake):
    with veridical.Engine(processes=0) as engine:
        for _ in range(2):
            veridical.claims.check("Ada was born.", SOURCES, engine=engine)
        veridical.claims.extract(ANSWER, extractor="sentences", engine=engine)
        (work,) = engine.work().values()
        assert work.requests >= 2
        assert list(
            veridical.claims.ground(
                [{"response": ANSWER, "contexts": SOURCES}], extractor="sentences", engine=engine
            )
        )
