"""Study of images of counted objects (figures 5 and 18 to 20).

Besta et al. 2025 request one to five objects from an image model and count by hand which images are
right. Here the images are drawn by code, so that their counts are known and the share of wrong ones
is set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random
from typing import NamedTuple

from veridical.core.records import Record, Sample
from veridical.core.scores import Score
from veridical_lab.studies.checkembed.options import CheckEmbedSetup
from veridical_lab.studies.checkembed.result import Value
from veridical_lab.studies.checkembed.scenes import MOST, NUMBERS, OBJECTS, Scene, prompt_of

#: Scorer of the images of a prompt: the published form, which sees the samples only.
SCORER = "checkembed(judged=samples,of=images)"
#: Similarity of a single image to the others: the negative of CheckEmbed's ``outlier``.
SINGLE = "single image (checkembed)"
#: Scorer of a single image, as SelfCheckGPT scores an answer: by its likeness to samples.
SELFCHECK = "cosine(of=images)"
SELFCHECKED = "single image (selfcheck: cosine)"
#: Maximum number of requested objects.
ASKED = 5
_SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)  # shares of wrong images
_APART = 2  # objects too many or too few, at most


class Prompted(NamedTuple):
    """Images of one prompt, the wrong ones last.

    Attributes:
        name, asked: the requested object and its number.
        wrong: number of images with another number of objects.
    """

    name: str
    asked: int
    wrong: int
    scenes: tuple[Scene, ...]

    @property
    def id(self) -> str:
        """Names it within a run of studies."""
        return f"counting/{self.asked}/{self.name}/{self.wrong}"

    def single(self, i: int) -> str:
        """Return the id of one of its images."""
        return f"{self.id}/{i}"

    @property
    def kind(self) -> str:
        """Return the requested number, in words."""
        return NUMBERS[self.asked - 1]

    def record(self, urls: dict[Scene, str]) -> Record:
        """Return its images as samples; ``urls`` caches shared images."""
        for scene in self.scenes:
            if scene not in urls:
                urls[scene] = scene.url()
        return Record(
            id=self.id,
            prompt=prompt_of(self.name, self.asked),
            response="",
            samples=tuple(Sample(image=urls[scene]) for scene in self.scenes),
        )


def prompts_of(options: CheckEmbedSetup) -> Iterator[Prompted]:
    """Yield all prompts: each object and number with each share of wrong images.

    The right and the wrong image of one draw are the same in each.
    """
    for name in list(OBJECTS)[: options.limit]:
        for count in range(1, ASKED + 1):
            for wrong in sorted({round(share * options.n) for share in _SHARES}):
                right = options.n - wrong
                scenes = (
                    Scene(name, count if i < right else _other(name, count, i, options.seed), s)
                    for i, s in enumerate(range(options.seed, options.seed + options.n))
                )
                yield Prompted(name, count, wrong, tuple(scenes))


def records_of(options: CheckEmbedSetup) -> list[Record]:
    """Return a record per prompt."""
    urls: dict[Scene, str] = {}
    return [prompted.record(urls) for prompted in prompts_of(options)]


def single_records(options: CheckEmbedSetup) -> list[Record]:
    """Return a record per image of each mixed prompt, with the other images as samples."""
    urls: dict[Scene, str] = {}
    records = []
    for prompted in mixed(options):
        whole = prompted.record(urls)
        for i, image in enumerate(whole.samples):
            others = whole.samples[:i] + whole.samples[i + 1 :]
            changed = {"response_image": image.image, "samples": others}
            records.append(whole.model_copy(update={"id": prompted.single(i), **changed}))
    return records


def mixed(options: CheckEmbedSetup) -> Iterator[Prompted]:
    """Yield the prompts with both right and wrong images."""
    return (prompted for prompted in prompts_of(options) if 0 < prompted.wrong < options.n)


def values_of(options: CheckEmbedSetup, scores: Mapping[str, Mapping[str, Score]]) -> list[Value]:
    """Return CheckEmbed's score of each prompt's images, by the number of wrong ones.

    Args:
        scores: by the prompt's id and the scorer's name.
    """
    values = []
    for prompted, score in _scored(options, scores):
        assert isinstance(score.raw, dict)
        values.append(_value(prompted, 0, SCORER, float(score.raw["value"])))
    return values


def singles_of(
    options: CheckEmbedSetup, scores: Mapping[str, Mapping[str, Score]]
) -> tuple[list[Value], list[Value]]:
    """Return the similarity of each image of a mixed prompt to the others.

    Right and wrong images are separate: by CheckEmbed, then by SelfCheckGPT.

    Args:
        scores: of :func:`records_of` and :func:`single_records`.
    """
    right: list[Value] = []
    wrong: list[Value] = []
    for scorer, of in ((SINGLE, _by_checkembed), (SELFCHECKED, _by_selfcheck)):
        for prompted in mixed(options):
            for i, value in of(prompted, scores):
                is_right = prompted.scenes[i].count == prompted.asked
                (right if is_right else wrong).append(_value(prompted, i, scorer, value))
    return right, wrong


def _by_checkembed(
    prompted: Prompted, scores: Mapping[str, Mapping[str, Score]]
) -> Iterator[tuple[int, float]]:
    for score in scores.get(prompted.id, {}).values():
        if score.status == "scored" and isinstance(score.raw, dict):
            yield from ((i, -float(x)) for i, x in enumerate(score.raw["outlier"]))


def _by_selfcheck(
    prompted: Prompted, scores: Mapping[str, Mapping[str, Score]]
) -> Iterator[tuple[int, float]]:
    for i in range(len(prompted.scenes)):
        for score in scores.get(prompted.single(i), {}).values():
            if score.status == "scored" and isinstance(score.raw, float):
                yield i, score.raw


def _scored(
    options: CheckEmbedSetup, scores: Mapping[str, Mapping[str, Score]]
) -> Iterator[tuple[Prompted, Score]]:
    for prompted in prompts_of(options):
        for score in scores.get(prompted.id, {}).values():
            if score.status == "scored":
                yield prompted, score


def _value(prompted: Prompted, draw: int, scorer: str, value: float) -> Value:
    return Value(
        study="counting",
        kind=prompted.kind,
        topic=prompted.name,
        level=prompted.wrong,
        draw=draw,
        scorer=scorer,
        value=value,
    )


def _other(name: str, count: int, draw: int, seed: int) -> int:
    """Return a number of objects near ``count`` but different."""
    near = (count + step for step in range(-_APART, _APART + 1) if step)
    return Random(f"{seed}/{name}/{count}/{draw}").choice([n for n in near if 1 <= n <= MOST])
