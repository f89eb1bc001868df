"""A panel of judges (Verga et al. 2024; UQLM's LLMPanel)."""

from __future__ import annotations

import asyncio
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from math import comb
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.errors import NotApplicable, UsageError
from veridical.prompts.prompt import pinned
from veridical.scorers.judges.judge import Temperature, judge_template

Combine = Literal["mean", "min", "max", "median", "majority"]
Repeats = Annotated[int, Field(ge=1, le=100)]
#: Name of the run's default LLM among judges.
SELF = "self"
_TEMPLATE = "correct_incorrect"


class JudgeChoice(NamedTuple):
    """A judge: an endpoint (None is the run's LLM) and its template."""

    llm: str | None
    template: str

    def __str__(self) -> str:
        return f"{self.llm or SELF}|{self.template}"


class Judges(str):
    """Annotation of the ``judges`` parameter, validated when the scorer is bound."""

    @staticmethod
    def prompts(value: str) -> list[str]:
        """Return the templates named in the parameter, for the registry."""
        return [s.template for s in choices(value)]

    @staticmethod
    def models(value: str) -> dict[str, list[str | None]]:
        """Return the LLMs named in the parameter, for the registry."""
        return {"llm": [s.llm for s in choices(value)]}

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(_checked, core_schema.str_schema())


def choices(judges: str) -> list[JudgeChoice]:
    """Parse the judges in ``"self, NAME, NAME|TEMPLATE"``.

    Raises:
        UsageError: there is no judge, or one is named twice.
    """
    chosen = []
    for text in judges.split(","):
        name, _, template = (part.strip() for part in text.partition("|"))
        if not name:
            raise UsageError(f"judges must be names separated by commas, not {judges!r}")
        choice = JudgeChoice(None if name == SELF else name, template or _TEMPLATE)
        if choice in chosen:
            raise UsageError(f"the judge {choice} is named twice")
        chosen.append(choice)
    return chosen


def _checked(judges: str) -> str:
    chosen = choices(judges)
    for s in chosen:
        judge_template(s.template)
    return ", ".join(
        f"{s.llm or SELF}" + ("" if s.template == _TEMPLATE else f"|{pinned(s.template)}")
        for s in chosen
    )


def _majority(confidences: Sequence[float]) -> float:
    """Return 1 if more judges are above 0.5 than below, 0 if fewer, 0.5 in a tie."""
    right = sum(c > 0.5 for c in confidences)
    wrong = sum(c < 0.5 for c in confidences)
    return 0.5 if right == wrong else float(right > wrong)


_COMBINED: dict[Combine, Callable[[Sequence[float]], float]] = {
    "mean": statistics.fmean,
    "min": min,
    "max": max,
    "median": statistics.median,
    "majority": _majority,
}


@scorer(
    "panel",
    level="response",
    version=2,
    judges=True,
    source="Verga 2024; Bouchard & Chauhan 2025, section 3.3",
    cost="llm",
    raw_is="confidence",
    raw_key="confidence",
    added={"repeats", "temperature"},
)
async def panel(
    record: Record,
    evidence: Evidence,
    *,
    judges: Judges = "self",  # type: ignore[assignment]
    combine: Combine = "mean",
    explanations: bool = False,
    fences: bool = True,
    repeats: Repeats = 1,
    temperature: Temperature = 0.0,
) -> Score:
    """Combine the verdicts of several judges, which are called in parallel.

    Args:
        judges: names separated by commas: endpoints, or ``self`` for the run's LLM, each optionally
            with ``|TEMPLATE`` instead of ``correct_incorrect``: ``"self, openai:gpt-4o-mini,
            local|likert"``.
        combine: combination of the judges' confidences: ``mean``, ``min``, ``max``, ``median`` or
            ``majority``. The majority is 1 if more judges are above 0.5 than below, 0 if fewer, and
            0.5 in a tie.
        explanations, fences: as in ``judge``.
        repeats: number of calls per judge; its confidences are averaged.
        temperature: sampling temperature. At 0 repeats differ only by the server's nondeterminism.

    A judge that fails is dropped and reported; if fewer than half remain, the panel fails.

    ``raw`` has the combined ``confidence``, in [0, 1], the ``range`` of the judges' confidences
    (maximum - minimum), and each judge's confidence; ``risk`` is 1 - confidence. With ``repeats``
    it also has ``flips``, the share of pairs of a judge's repeats that differ, per judge and on
    average.
    """
    chosen = choices(judges)
    options: dict[str, Any] = {"explanations": explanations, "fences": fences}
    if temperature:
        options["temperature"] = temperature
    found = await asyncio.gather(
        *(
            evidence.score(
                "judge", template=s.template, llm=s.llm, **options, **({"draw": n} if n else {})
            )
            for s in chosen
            for n in range(repeats)
        )
    )
    by_judge = [found[i : i + repeats] for i in range(0, len(found), repeats)]
    confidences = [[1 - s.risk for s in scores if s.risk is not None] for scores in by_judge]
    heard = [statistics.fmean(some) for some in confidences if some]
    judge_reports = [
        _judge_report(choice, scores) for choice, scores in zip(chosen, by_judge, strict=True)
    ]
    if all(s.status == "not_applicable" for s in found):
        raise NotApplicable(f"no judge applies: {found[0].reason}")
    if 2 * len(heard) < len(chosen):
        why = next(s.reason for s in found if s.risk is None)
        return Score(
            risk=None,
            raw={"judges": judge_reports},
            status="failed",
            reason=f"{len(chosen) - len(heard)} of {len(chosen)} judges gave no verdict: {why}",
        )
    confidence = _COMBINED[combine](heard)
    raw = {"confidence": confidence, "range": max(heard) - min(heard), "judges": judge_reports}
    known = [r["flips"] for r in judge_reports if r.get("flips") is not None]
    if repeats > 1:
        raw["flips"] = statistics.fmean(known) if known else None
    return Score.of(1 - confidence, raw=raw)


def _judge_report(choice: JudgeChoice, scores: Sequence[Score]) -> dict[str, Any]:
    """Return a judge's first verdict and, for several, their agreement."""
    first = next((s for s in scores if s.risk is not None), scores[0])
    report = {
        "judge": str(choice),
        "status": first.status,
        "reason": first.reason,
        "raw": first.raw,
    }
    if len(scores) == 1:
        return report
    answers = Counter(_answers(s) for s in scores if s.risk is not None)
    pairs = comb(answers.total(), 2)
    same = sum(comb(n, 2) for n in answers.values())
    return report | {"asked": len(scores), "flips": 1 - same / pairs if pairs else None}


def _answers(score: Score) -> tuple[str, ...]:
    """Return a judge's answers: one, or one per sample for a template with ``{sample}``."""
    raw: dict[str, Any] = score.raw  # type: ignore[assignment]
    return tuple(verdict["answer"] for verdict in raw.get("verdicts", [raw]))
