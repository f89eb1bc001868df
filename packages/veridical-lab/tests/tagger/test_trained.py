"""A trained extractor on the embedded encoder, from triplets to claims and scores."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import triplet_data

import veridical
from veridical.claims import extract
from veridical.claims.extractors import find_extractor, pin
from veridical.core.evidence import LocalEvidence
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.engine.engine import Engine
from veridical.errors import UsageError
from veridical.serve.request_options import Offers
from veridical_lab.tagger.model import read_tagger
from veridical_lab.tagger.train import Example, gather, measure, parts_of, train


def examples(n: int = 60):
    return [
        Example(
            Record(response=row["response"]), tuple(map(tuple, row["claims"])), str(row["prompt"])
        )
        for row in triplet_data.rows(n)
    ]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory):
    """What was read, its parts, and the file of a tagger trained on them."""
    from veridical_lab.tagger.model import write_tagger

    data = gather(examples())
    parts = parts_of(data, 0.3, 0)
    path = tmp_path_factory.mktemp("trained") / "extractor.json"
    write_tagger(path, train(parts, data, seed=0))
    return data, parts, path


def test_every_triplet_that_stands_there_is_aligned(trained):
    data, parts, _ = trained
    assert (data.aligned, data.triplets, data.missing, data.unaligned) == (180, 180, {}, {})
    assert data.encoder == "minilm"
    groups = [{p.example.group for p in part} for part in (*parts.halves, parts.held)]
    assert [len(g) for g in groups] == [21, 21, 18]
    assert len(set().union(*groups)) == 60


def test_it_finds_what_the_rules_do_not(trained):
    """On new prompts the patterns that it has seen are found; the rules cannot read them all."""
    _, parts, path = trained
    rows = measure(read_tagger(str(path)), parts.held, bootstrap=200, seed=0)
    figures = {(r.method, r.metric): r for r in rows}
    assert figures["trained", "recall"].value > 0.9
    assert figures["trained - triplets", "f1"].low > 0.1
    difference = figures["trained", "f1"].value - figures["clauses", "f1"].value
    assert figures["trained - clauses", "f1"].value == pytest.approx(difference)


def test_figures_are_sums_over_all_claims(trained):
    """The rules' figures beside a count of our own."""
    _, parts, path = trained
    rows = measure(read_tagger(str(path)), parts.held, bootstrap=0, seed=0)
    hits = found = 0
    for p in parts.held:
        known = [set(" ".join(t).lower().split()) for t in p.example.triplets]
        left = list(range(len(known)))
        for claim in p.clauses:
            words = set(claim.text.lower().replace(",", "").rstrip(".").split())
            fits = [i for i in left if 2 * len(words & known[i]) / len([*words, *known[i]]) >= 0.6]
            found += 1
            if fits:
                hits += 1
                left.remove(fits[0])
    (row,) = [r for r in rows if (r.method, r.metric) == ("clauses", "precision")]
    assert row.value == pytest.approx(hits / found) and row.low is None


def test_claims_are_the_responses_own_words(trained):
    _, _, path = trained
    response = (
        "In the spring of a cold year, May Reed was born to a poor cook in Turin. She did not sing."
    )
    found = extract(response, extractor=f"trained|{path}").claims
    assert ("May Reed", "was born in", "Turin") in [c.triplet for c in found]
    for claim in found:
        assert 0 <= claim.start < claim.end <= len(response)
        said = " ".join(response[a:b] for a, b in claim.parts or ((claim.start, claim.end),))
        for word in (claim.text if claim.triplet is None else " ".join(claim.triplet)).split():
            assert word in said
    # the second sentence is not left unchecked, and keeps its denial
    assert any("not sing" in c.text for c in found if c.sentence == 1)


def test_an_answer_read_with_its_question_stays_that_statement(trained):
    _, _, path = trained
    prompt = "What is the capital of Italy?"
    found = extract("Rome.", prompt=prompt, extractor=f"trained|{path}").claims
    assert found == extract("Rome.", prompt=prompt, extractor="triplets").claims
    assert extract("I do not know.", extractor=f"trained|{path}").abstained


def test_the_order_of_the_batch_does_not_matter(trained):
    _, _, path = trained
    rows = [{"response": r["response"], "contexts": "Ann Lee."} for r in triplet_data.rows(6)]
    scorer = f"claims(extractor='trained|{path}',checker=nli)"
    texts = [
        [[c["text"] for c in json.loads(line)["scores"][key]["raw"]["claims"]] for line in lines]
        for lines, key in (_lines(rows, scorer), _lines(rows[::-1], scorer))
    ]
    assert texts[0] == texts[1][::-1] and all(texts[0])


def _lines(rows, scorer):
    results = veridical.check(rows, scorer, store=None)
    lines = list(results.lines())
    return lines, next(iter(json.loads(lines[0])["scores"]))


def test_the_file_is_pinned_and_of_one_encoder(trained, tmp_path: Path):
    _, _, path = trained
    copy = tmp_path / "copy.json"
    copy.write_bytes(path.read_bytes())
    name = pin(f"trained | {copy}")
    version = read_tagger(str(path)).version
    assert name == f"trained|{copy}@{version}" and pin(name) == name
    bound = REGISTRY.bind("claims", {"extractor": f"trained|{copy}"})
    assert f"extractor:trained|{copy}@{version}" in bound.signature()
    assert {"tokens", "nli"} <= bound.costs
    for scorer in ("claim_frequency", "claim_qa", "claim_graph", "factscore", "ccp", "factool"):
        other = REGISTRY.bind(scorer, {"extractor": f"trained|{copy}"})
        assert other.values["extractor"] == name and "tokens" in other.costs
    body = json.loads(copy.read_text())
    copy.write_text(json.dumps({**body, "revision": "another"}))
    with pytest.raises(UsageError, match="has changed"):
        pin(name)
    with pytest.raises(UsageError, match=r"trained with the token vectors of minilm \(another\)"):
        extract("Ann was born in Rome.", extractor=f"trained|{copy}")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("trained", r"extractor=trained requires its file: extractor='trained\|FILE'"),
        ("trained|", "extractor=trained requires its file"),
        ("clauses|x.json", r"extractor clauses takes no file; remove \|x.json"),
        ("claus|x.json", "did you mean 'clauses'"),
        ("trained|absent.json", "cannot read extractor model absent.json"),
    ],
)
def test_wrong_names_are_refused_when_the_scorer_is_bound(name, message):
    with pytest.raises(UsageError, match=message):
        _ = REGISTRY.bind("claims", {"extractor": name}).costs


async def test_without_token_vectors_it_cannot_work(trained):
    _, _, path = trained
    record = Record(response="Ann was born in Rome.")
    with pytest.raises(UsageError, match="requested token embeddings"):
        await find_extractor(f"trained|{path}")(record, LocalEvidence(record))


def test_requests_to_a_server_may_not_name_a_file(trained):
    _, _, path = trained
    with pytest.raises(UsageError, match="which this server does not offer"):
        Offers().check_text(f"claims(extractor='trained|{path}')")
    Offers(frozenset({f"trained|{path}"})).check_text(f"claims(extractor='trained|{path}')")
    Offers().check_text("claims(extractor=triplets)")


def test_a_plan_counts_its_texts(trained):
    _, _, path = trained
    plan = veridical.plan(
        [{"response": triplet_data.rows(1)[0]["response"], "contexts": "Ann."}],
        f"claims(extractor='trained|{path}')",
    )
    (encoder,) = [m for m in plan["models"] if m["roles"] == ["token_encoder"]]
    assert encoder["requests"] == 2


def test_too_little_to_train_on():
    data = gather(examples(12))
    with pytest.raises(UsageError, match=r"first half has \d prompts and \d+ triplets"):
        parts_of(data, 0.2, 0)


def test_a_response_that_cannot_be_read_is_left_out():
    read = gather([*examples(2), Example(Record(response="I do not know."), (), "x")])
    assert len(read.examples) == 2 and sum(read.missing.values()) == 1


def test_token_vectors_are_those_of_the_encoder():
    """Through the engine, beside the tokens of the tokenizer itself and a forward of its own."""
    from veridical.claims.engine_work import run_work
    from veridical.models import load_encoder

    texts = ["Zoë's naïve idea: 3.5 %.", "a " * 700, "Zoë's naïve idea: 3.5 %."]
    found = {}

    async def work(record, evidence):
        found["vectors"] = await evidence.token_vectors(texts)
        found["name"] = await evidence.token_encoder_identity()

    with Engine(store=None, processes=0) as engine:
        run_work(engine, [Record(response="x")], work, {"tokens"}, {})
    model = load_encoder("minilm")
    assert found["name"] == (model.name, model.revision)
    for text, got in zip(texts, found["vectors"], strict=True):
        (windows,) = model.windows([text])
        whole = model.assemble(windows, model.run(windows, True), True)
        np.testing.assert_allclose(got.vectors, whole.tokens[whole.content], atol=1e-5)
        said = [text[a:b] for a, b in got.offsets]
        assert len(said) == len(got.vectors)
        assert "".join(said) == "".join(text.split())
