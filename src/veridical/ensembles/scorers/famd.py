"""FAMD scorer: common direction of several scorers (Pagès 2004; Mirage, section 2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from veridical.core.records import Record
from veridical.core.registry import BoundScorer, scorer
from veridical.core.scores import Score
from veridical.core.verdict_cuts import Cuts, Strictness
from veridical.ensembles.ensemble_file import Ensemble, EnsembleFile, read
from veridical.ensembles.scorers.tuned import tuned, tuned_cuts
from veridical.errors import UsageError

if TYPE_CHECKING:
    from veridical.core.evidence import Evidence


def _read(file: str | None) -> tuple[Ensemble, str]:
    if file is None:
        raise UsageError(
            "famd requires the file written by veridical tune --method famd: famd(file=PATH)"
        )
    ensemble, version = read(file)
    if ensemble.method != "famd":
        raise UsageError(f"{file} is a {ensemble.method} ensemble; use ensemble(file=...)")
    return ensemble, version


def _parts(file: str | None) -> Iterable[Iterable[BoundScorer]]:
    return [] if file is None else [_read(file)[0].scorers.values()]


def _cuts(raw: Mapping[str, Any], strictness: Strictness, *, file: str | None) -> Cuts | None:
    return None if file is None else tuned_cuts(_read(file)[0], raw.get("stratum"), strictness)


@scorer(
    "famd",
    level="response",
    source="Pagès 2004; Kulkarni 2025, section 2",
    cost="llm",
    uses={"embed", "tokens", "nli", "probabilities", "seq2seq"},
    raw_is="risk",
    raw_key="risk",
    check=_read,
    parts=_parts,
    cuts=_cuts,
)
async def famd(record: Record, evidence: Evidence, *, file: EnsembleFile | None = None) -> Score:
    """Locate the answer along the first component of several scorers' risks.

    Args:
        file: file written by ``veridical tune --method famd``.

    The component comes from a factor analysis of mixed data of the scorers' risks, fitted without
    labels; scorers with verdicts enter as categories. It is oriented to grow with the mean of the
    scorers' ranks. The risk is its quantile in the fitted data. A component that is not scored
    takes its mean there.

    ``raw`` has the ``risk``, the ``components``' risks and the reasons for ``missing`` ones.

    Raises:
        UsageError: no file is named, it is from another method or has changed, or its components
            differ from those it was fitted with.
        NotApplicable: no component applies.
        ModelError: no component is scored, and some failed.
    """
    return await tuned(record, evidence, *_read(file))
