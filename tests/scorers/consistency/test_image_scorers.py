"""CheckEmbed and the mean cosine on images: by hand, by the engine, and what does not apply."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from image_files import clip_checkpoint, discs, encoded, noise

import veridical
from veridical.cli.planned import model_line
from veridical.core.evidence import Evidence
from veridical.core.images import url_of
from veridical.core.records import Record
from veridical.core.registry import REGISTRY, BoundScorer
from veridical.core.scores import Score
from veridical.engine.engine import Engine
from veridical.errors import NotApplicable, UsageError

pytest.importorskip("PIL")
TEXT_AND_IMAGES = "checkembed, cosine, selfcheck_nli, exact_match, rouge_l(against=samples)"

VECTORS = {"r": (1.0, 0.0), "a": (0.6, 0.8), "b": (0.8, 0.6)}


class ByHand(Evidence):
    """Vectors by the URL of the image."""

    async def embed_images(self, pictures: Any) -> Any:
        self.asked = list(pictures)
        return np.array([VECTORS[p.url] for p in pictures.values()], np.float32)

    async def _score(self, bound: BoundScorer) -> Score:
        raise AssertionError


def score(spec: str, record: Record) -> tuple[Score, ByHand]:
    (bound,) = REGISTRY.parse(spec)
    evidence = ByHand(record)
    return asyncio.run(bound.scorer.function(record, evidence, **bound.arguments)), evidence


RECORD = Record(
    response="", response_image="r", samples=[{"image": "a"}, "text", {"image": "b"}], reference="x"
)


def test_by_hand() -> None:
    """cos(a, b) = 0.96, cos(r, a) = 0.6, cos(r, b) = 0.8."""
    made, evidence = score("checkembed(of=images)", RECORD)
    assert evidence.asked == ["response.image", "samples[0].image", "samples[2].image"]
    assert isinstance(made.raw, dict)
    assert made.raw["value"] == pytest.approx((0.96 + 0.7) / 2, abs=1e-6)
    assert made.risk == pytest.approx((1 - 0.83) / 2, abs=1e-6)
    assert made.raw["cosine"]["mean"] == pytest.approx(0.96, abs=1e-6)
    assert made.raw["response"] == pytest.approx(0.7, abs=1e-6)
    assert made.raw["order"] == ["response", "sample 0", "sample 2"]
    made, _ = score("cosine(of=images)", RECORD)
    assert made.raw == pytest.approx(0.7, abs=1e-6)
    assert made.risk == pytest.approx(0.15, abs=1e-6)


def test_the_published_form_never_sees_the_response() -> None:
    for record in (RECORD, RECORD.model_copy(update={"response_image": None})):
        made, evidence = score("checkembed(of=images,judged=samples)", record)
        assert evidence.asked == ["samples[0].image", "samples[2].image"]
        assert isinstance(made.raw, dict)
        assert made.raw["value"] == pytest.approx(0.96, abs=1e-6)
        assert made.raw["order"] == ["sample 0", "sample 2"] and made.raw["response"] is None
        assert np.array(made.raw["matrix"]).shape == (2, 2) and len(made.raw["outlier"]) == 2


@pytest.mark.parametrize(
    ("spec", "changed", "why"),
    [
        ("checkembed(of=images)", {"response_image": None}, "the response is not an image"),
        ("cosine(of=images)", {"response_image": None}, "the response is not an image"),
        ("checkembed(of=images)", {"response": "a"}, "the response is a text"),
        ("checkembed(of=images,judged=samples)", {"response": "a"}, "the response is a text"),
        ("cosine(of=images)", {"samples": ()}, "no sample is an image"),
        ("checkembed(of=images,judged=samples)", {"samples": RECORD.samples[:1]}, "more samples"),
        ("checkembed", {}, "the response is an image"),
        ("checkembed", {"response": "a", "samples": RECORD.samples[:1]}, "of=images compares"),
        ("cosine", {"response": "a", "samples": RECORD.samples[:1]}, "the samples are images"),
    ],
)
def test_what_does_not_apply(spec: str, changed: dict[str, Any], why: str) -> None:
    with pytest.raises(NotApplicable, match=why):
        score(spec, RECORD.model_copy(update=changed))


@pytest.mark.parametrize("option", ["against=contexts", "against=reference", "answer=number"])
def test_options_of_texts_are_refused(option: str) -> None:
    with pytest.raises(UsageError, match="applies to texts only"):
        veridical.check([{"response": "a"}], scorers=f"cosine(of=images,{option})", store="none")


def rows() -> list[dict[str, Any]]:
    return [
        {
            "prompt": "three apples on a white background",
            "response": {"image": discs(3, 9)},
            "samples": [{"image": discs(3 if i < right else 1, i)} for i in (0, 1, 2)],
        }
        for right in (0, 1, 2, 3)
    ]


def test_by_the_engine_wrong_counts_are_riskier() -> None:
    scorers = "checkembed(of=images), cosine(of=images)"
    found = list(veridical.check(rows(), scorers=scorers, store="none"))
    names = [name for name in found[0].scores if "(" in name]
    by_pairs, by_row = ([r.scores[name].risk or 0 for r in found] for name in names)
    assert min(by_pairs) == by_pairs[-1]  # samples that are all wrong agree with each other too
    assert by_row == sorted(by_row, reverse=True) and len(set(by_row)) == 4
    for name in names:
        assert "image_embedder:efficientnet-lite0@" in found[0].scores[name].signature
    assert {r.verdict for r in found} == {"unchecked"}  # an image makes no statement


def test_every_scorer_says_why_it_does_not_apply() -> None:
    found = list(veridical.check(rows()[:1], preset="all", store="none"))
    text = [{"response": "three apples", "samples": rows()[0]["samples"]}]
    found += veridical.check(text, preset="all", store="none")
    found += veridical.check(rows()[:1], scorers=TEXT_AND_IMAGES, store="none")
    for result in found:
        for name, score in result.scores.items():
            assert score.status == "not_applicable" and score.reason, (name, score)
            assert "internal" not in score.reason


def test_a_broken_image_fails_its_own_record_and_is_named() -> None:
    whole = encoded(noise(64, 64))
    broken = url_of(whole[: len(whole) // 2])
    bad = {**rows()[1], "samples": [rows()[1]["samples"][0], {"image": broken}]}
    found = list(veridical.check([*rows(), bad], scorers="checkembed(of=images)", store="none"))
    statuses = [r.scores["checkembed(of=images)"].status for r in found]
    assert statuses == ["scored"] * 4 + ["failed"]
    reason = found[-1].scores["checkembed(of=images)"].reason
    assert reason is not None and "Error: samples[1].image: is a broken image" in reason


def test_what_is_equal_is_embedded_once_and_kept(tmp_path: Path) -> None:
    with Engine(processes=0, store=tmp_path / "store") as engine:
        for _ in range(2):
            veridical.check(rows() * 2, scorers="checkembed(of=images)", engine=engine)
        (work,) = engine.work().values()
    distinct = {row["response"]["image"] for row in rows()}
    distinct |= {s["image"] for row in rows() for s in row["samples"]}
    assert work.windows == len(distinct)


def test_plan_counts_images() -> None:
    plan = veridical.plan(rows(), scorers="checkembed(of=images), cosine(of=images)", store="none")
    (model,) = plan["models"] if isinstance(plan["models"], list) else plan["models"].values()
    assert "efficientnet-lite0" in json.dumps(plan)
    assert model["windows"] == 7
    told = model_line(model)
    assert "7 distinct images (0 already stored" in told and "token" not in told


@pytest.mark.torch
def test_a_clip_that_is_named(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    folder = clip_checkpoint(tmp_path / "tiny-clip")
    (found,) = veridical.check(
        rows()[:1],
        scorers="checkembed(of=images)",
        image_embedder=f"torch:{folder}",
        store="none",
    )
    assert "image_embedder:tiny-clip@" in found.scores["checkembed(of=images)"].signature


def test_a_name_that_is_none_is_refused_before_a_model_runs() -> None:
    with pytest.raises(UsageError, match="names no model"):
        veridical.check(rows(), scorers="checkembed(of=images)", image_embedder="x", store="none")
    with pytest.raises(UsageError, match="names no model"):
        veridical.check(rows(), scorers="exact_match", image_embedder="x", store="none")


def test_a_record_with_a_path_opens_no_file(tmp_path: Path, monkeypatch: Any) -> None:
    """A record made in Python goes past the reader of rows."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.png").write_bytes(encoded(noise(8, 8)))
    record = Record(response="", response_image="a.png", samples=[{"image": "a.png"}])
    (found,) = veridical.check([record], scorers="cosine(of=images)", store="none")
    reason = found.scores["cosine(of=images)"].reason
    assert reason == "ModelError: response.image: is no data:image/...;base64, URL"
