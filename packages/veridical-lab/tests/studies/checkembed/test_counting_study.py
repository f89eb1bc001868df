"""The study of counted objects: what is drawn, and its figures beside others' arithmetic."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from study_scripts import studied

from veridical.core.images import Picture
from veridical.errors import ModelError
from veridical.models.images import decoding
from veridical.models.images.names import load_image_embedder
from veridical_lab.studies.checkembed import counting
from veridical_lab.studies.checkembed.options import CheckEmbedSetup
from veridical_lab.studies.checkembed.scenes import MOST, OBJECTS, Scene, prompt_of

pytest.importorskip("PIL")


@pytest.mark.parametrize("name", OBJECTS)
def test_pictures_have_as_many_objects_as_they_say(name: str) -> None:
    """Counted by another library as the patches that are not white."""
    ndimage = pytest.importorskip("scipy.ndimage")
    for count in range(1, MOST + 1):
        points = np.asarray(Scene(name, count, 5).picture())
        assert points.shape == (256, 256, 3)
        patches = ndimage.binary_dilation((points < 200).any(axis=2), iterations=1)
        assert ndimage.label(patches, np.ones((3, 3)))[1] == count


def test_a_seed_draws_the_same_picture_again() -> None:
    assert Scene("mug", 3, 1).url() == Scene("mug", 3, 1).url() != Scene("mug", 3, 2).url()
    assert prompt_of("apple", 1) == "one apple on a white background"
    assert prompt_of("apple", 3) == "three apples on a white background"


def test_prompts_have_the_wrong_images_that_they_say() -> None:
    prompts = list(counting.prompts_of(CheckEmbedSetup(n=10, limit=3)))
    assert len(prompts) == 3 * 5 * 6 and len({p.id for p in prompts}) == len(prompts)
    for p in prompts:
        wrong = [s.count for s in p.scenes if s.count != p.asked]
        assert len(p.scenes) == 10 and len(wrong) == p.wrong
        assert all(1 <= n <= MOST and abs(n - p.asked) <= 2 for n in wrong)
    assert len({s for p in prompts for s in p.scenes}) <= 3 * 5 * 20  # prompts share them


def test_figures_are_those_of_plain_arithmetic(tmp_path: Path) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    options: dict[str, Any] = {"n": 5, "limit": 2}
    result = studied(["counting"], tmp_path / "run", None, **options)
    assert result.coverage["counting"] == {counting.SCORER: 1.0, counting.SELFCHECK: 1.0}
    embedder = load_image_embedder(threads=1)

    def vector(scene: Scene) -> np.ndarray:
        (windows,) = embedder.windows([Picture(scene.url())])
        return embedder.assemble(windows, embedder.run(windows))

    prompts = [p for p in counting.prompts_of(CheckEmbedSetup(**options)) if p.asked == 3]
    given = {(v.topic, v.level): v.value for v in result.values if v.kind == "three"}
    assert len(given) == len(prompts) == 12
    for p in prompts:
        vectors = [vector(s) for s in p.scenes]
        wanted = np.mean([a @ b for a, b in combinations(vectors, 2)])
        assert given[p.name, p.wrong] == pytest.approx(wanted, abs=1e-5)
    (all_wrong,) = [s for s in result.separations if s.kind == "three" and s.level == 5]
    scores = [given[name, level] for level in (0, 5) for name in ("yellow tennis ball", "apple")]
    assert all_wrong.auroc == pytest.approx(metrics.roc_auc_score([1, 1, 0, 0], scores))
    for scorer in (counting.SINGLE, counting.SELFCHECKED):
        single = [s for s in result.separations if s.scorer == scorer]
        assert [(s.level, s.n_similar, s.n_different) for s in single] == [
            *((1, 40, 10), (2, 30, 20), (3, 20, 30), (4, 10, 40))
        ]
    # SelfCheckGPT's way: the mean cosine of an image with each of the others
    right, wrong = [], []
    for p in counting.prompts_of(CheckEmbedSetup(**options)):
        if p.wrong == 2:
            vectors = np.array([vector(s) for s in p.scenes])
            others = ((vectors @ vectors.T).sum(axis=1) - 1) / (len(vectors) - 1)
            for scene, value in zip(p.scenes, others, strict=True):
                (right if scene.count == p.asked else wrong).append(value)
    (of_two,) = [s for s in result.separations if s.scorer == counting.SELFCHECKED and s.level == 2]
    labels = [1] * len(right) + [0] * len(wrong)
    expected = metrics.roc_auc_score(labels, [*right, *wrong])
    assert of_two.auroc == pytest.approx(expected, abs=1e-4)
    again = studied(["counting"], tmp_path / "run", None, **options)
    assert again.values == result.values and again.seconds <= result.seconds


def test_wrong_counts_lower_the_score(tmp_path: Path) -> None:
    """As in the paper: the fewer images are right, the lower is CheckEmbed's score."""
    result = studied(["counting"], tmp_path / "run", None, n=5, limit=4)
    for kind in ("three", "four", "five"):
        means = {s.level: s.mean for s in result.summaries if s.kind == kind}
        assert means[0] > means[2] > means[5]
        trend = next(t for t in result.trends if t.kind == kind)
        assert trend.spearman is not None and trend.spearman < -0.4
    few_wrong = next(s for s in result.separations if s.scorer == counting.SINGLE)
    assert few_wrong.level == 1 and few_wrong.auroc > 0.7


def test_without_pillow_nothing_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match="images require Pillow"):
        studied(["counting"], tmp_path / "run", None)
    assert not (tmp_path / "run").exists()
