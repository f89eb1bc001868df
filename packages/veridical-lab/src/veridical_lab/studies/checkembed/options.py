"""Options of the CheckEmbed studies, validated before any work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veridical.core.options import Group, Names, option
from veridical.errors import UsageError, option_named, unknown_name
from veridical.run.options import SpeedOptions
from veridical_lab.studies.checkembed.topics import ERRORS

#: The studies, and what each looks at.
STUDIES = {
    "pairs": "passages that look alike and differ in meaning, and the other way round",
    "errors": "passages with 1 to 10 forced errors, and passages without",
    "terms": "terms extracted from legal texts, with matrices and their ground truth",
    "runtime": "seconds by the number of samples, their length and the embedder",
    "counting": "pictures of one to five objects, drawn here, some with a wrong number of them",
}
#: The options that each study takes.
_TAKES = {
    "pairs": ("limit", "n", "temperature", "max_tokens", "scorers"),
    "errors": ("about", "errors", "limit", "n", "temperature", "max_tokens", "scorers"),
    "terms": ("data", "limit", "n", "temperature", "max_tokens"),
    "runtime": ("ks", "lengths", "embedders", "seed", "scorers"),
    "counting": ("limit", "n", "seed"),
}
#: Most false statements that a passage may be asked to have, the paper's too.
MOST_ERRORS = 10


@dataclass(frozen=True, kw_only=True)
class CheckEmbedSetup(SpeedOptions):
    """The options of the studies of CheckEmbed.

    Raises:
        UsageError: a value does not fit.
    """

    data: str | Path | None = option(
        None,
        "For terms: file of chunks and terms, such as CheckEmbed's legal_definitions.json.",
        Group.INPUT,
        kind=Path,
    )
    about: str | Sequence[str] = option(
        "scientific,legal", "For errors: subjects, scientific or legal or both.", Group.STUDY
    )
    errors: str | Sequence[int] = option(
        "1:10", "For errors: numbers of errors, as 1:10 or 1,5,10.", Group.STUDY
    )
    limit: int | None = option(
        None, "Maximum topics, chunks or objects.", Group.STUDY, least=1, kind=int
    )
    n: int = option(10, "Replies per request, or images per prompt.", Group.ANSWERS, least=3)
    temperature: float = option(1.0, "Sampling temperature of the replies.", Group.ANSWERS)
    max_tokens: int = option(512, "Maximum tokens per reply.", Group.ANSWERS, least=16)
    scorers: str | None = option(
        None,
        'Scorers to measure, such as "checkembed, selfcheck_nli". Default: CheckEmbed, BERTScore, '
        "both SelfCheckGPTs and BLEU.",
        Group.SCORING,
        kind=str,
    )
    ks: str | Sequence[int] = option(
        "2,4,6,8,10", "For runtime: numbers of samples.", Group.STUDY, called="ks"
    )
    lengths: str | Sequence[int] = option(
        "200,500,1000", "For runtime: words of a sample.", Group.STUDY
    )
    embedders: str | Sequence[str] = option(
        "", "For runtime: encoders to compare. Default: --embedder.", Group.STUDY
    )
    seed: int = option(0, "Random seed of texts and pictures.", Group.STUDY, least=0)
    out: str | Path | None = option(
        None,
        "Study directory; the same one resumes. Default: .veridical/studies/...",
        Group.RUN,
        kind=Path,
        names=Names.RUN,
    )
    retry_failed: bool = option(False, "Retry failed replies and scores.", Group.RUN)

    def __post_init__(self) -> None:
        super().__post_init__()
        for subject in self.subjects:
            if subject not in ERRORS:
                raise unknown_name("subject", subject, ERRORS)
        if not self.subjects:
            raise UsageError(f"{option_named('about')} is empty; name a subject")
        for name, values, most in (
            ("errors", self.levels, MOST_ERRORS),
            ("ks", self.sample_counts, 1000),
            ("lengths", self.text_lengths, 100_000),
        ):
            if not values or min(values) < 1 or max(values) > most:
                raise UsageError(f"{option_named(name)}: whole numbers from 1 to {most}")
        if min(self.sample_counts) < 2:
            raise UsageError(f"{option_named('ks')}: at least 2 samples are compared")
        if not 0 <= self.temperature <= 10:
            raise UsageError(f"temperature is from 0 to 10, not {self.temperature:g}")

    @property
    def subjects(self) -> tuple[str, ...]:
        """Return the subjects of passages with errors."""
        return tuple(_names(self.about))

    @property
    def levels(self) -> tuple[int, ...]:
        """Numbers of errors, rising."""
        return _numbers("errors", self.errors)

    @property
    def sample_counts(self) -> tuple[int, ...]:
        """Numbers of samples that are timed, rising."""
        return _numbers("ks", self.ks)

    @property
    def text_lengths(self) -> tuple[int, ...]:
        """Words of the samples that are timed, rising."""
        return _numbers("lengths", self.lengths)

    @property
    def encoders(self) -> tuple[str, ...]:
        """Encoders that are timed; none stands for the engine's."""
        return tuple(_names(self.embedders))

    def settings(self, studies: Sequence[str]) -> dict[str, Any]:
        """Return the options that the texts and figures of ``studies`` depend on."""
        parsed: dict[str, Any] = {
            "about": list(self.subjects),
            "errors": list(self.levels),
            "ks": list(self.sample_counts),
            "lengths": list(self.text_lengths),
            "embedders": list(self.encoders),
        }
        names = dict.fromkeys(name for study in studies for name in _TAKES[study])
        names.pop("data", None)  # its content counts, not its place
        return {name: parsed.get(name, getattr(self, name)) for name in names}

    def refuse_unused(self, studies: Sequence[str]) -> None:
        """Refuse options that no selected study uses.

        Raises:
            UsageError: an option is set that none of ``studies`` uses.
        """
        for name in dict.fromkeys(name for takes in _TAKES.values() for name in takes):
            of = [study for study, takes in _TAKES.items() if name in takes]
            unused = not set(of) & set(studies)
            if unused and getattr(self, name) != getattr(CheckEmbedSetup, name):
                raise UsageError(
                    f"{option_named(name)} requires the study {' or '.join(map(repr, of))}"
                )


def studies_of(names: Sequence[str]) -> tuple[str, ...]:
    """Parse the names of studies, in the order of :data:`STUDIES`.

    Raises:
        UsageError: a name is missing, unknown or duplicated.
    """
    if not names:
        raise UsageError(f"name a study: {', '.join(STUDIES)}")
    for name in names:
        if name not in STUDIES:
            raise unknown_name("study", name, STUDIES)
    if len(set(names)) < len(names):
        raise UsageError("a study is given twice; remove one")
    return tuple(name for name in STUDIES if name in names)


def _names(value: str | Sequence[str]) -> list[str]:
    parts = value.split(",") if isinstance(value, str) else list(value)
    return list(dict.fromkeys(part.strip() for part in parts if part.strip()))


def _numbers(name: str, value: str | Sequence[int]) -> tuple[int, ...]:
    """Whole numbers, rising: ``1,5,10``, ``1:10``, or a sequence."""
    parts = _names(value) if isinstance(value, str) else [str(part) for part in value]
    numbers: set[int] = set()
    try:
        for part in parts:
            low, colon, high = part.partition(":")
            first, last = int(low), int(high if colon else low)
            if last - first > 100_000:
                raise ValueError
            numbers.update(range(first, last + 1))
    except ValueError:
        wanted = f"{option_named(name)} takes whole numbers, as 1,5,10 or 1:10, not "
        raise UsageError(wanted + repr(value)) from None
    return tuple(sorted(numbers))
