"""Guarantees of a policy's ensemble, printed and stored for the report."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from veridical.ensembles.ensemble_file import Ensemble, StoredGuarantee
from veridical.text.display import visible

#: File in the run directory, if the latest command's policy has a guarantee.
GUARANTEES = "promises.json"


class PolicyGuarantees(BaseModel):
    """The guarantees on which a policy relies.

    Attributes:
        by: field of ``meta`` with the strata; None if one guarantee covers all records.
        of: stratum -> its guarantee, or None; that of all records under "".
        simultaneous: all hold together with probability 1 minus this; None if each holds
            separately.
        rules: True if rules may review or reject accepted answers.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    by: str | None
    of: dict[str, StoredGuarantee | None]
    simultaneous: float | None = None
    rules: bool = False

    @classmethod
    def from_ensemble(cls, ensemble: Ensemble, rules: bool) -> PolicyGuarantees:
        """Return the guarantees of a tuned ensemble. One on all records is used only without
        strata, as it does not cover a single stratum."""
        strata = ensemble.strata
        if strata is None or not strata.of:
            by = None if strata is None else strata.by
            return cls(by=by, of={"": ensemble.fit.guarantee}, rules=rules)
        of = {name: fit.guarantee for name, fit in strata.of.items()}
        return cls(by=strata.by, of=of, simultaneous=strata.simultaneous, rules=rules)

    @classmethod
    def load(cls, run: Path) -> PolicyGuarantees | None:
        """Read the guarantees from a run directory; None if it has no such file."""
        try:
            return cls.model_validate_json((run / GUARANTEES).read_bytes())
        except (OSError, ValueError):
            return None

    def save(self, run: Path) -> None:
        """Write the guarantees into a run directory."""
        from veridical.files.atomic import write_atomic

        write_atomic(run / GUARANTEES, self.model_dump_json() + "\n", private=True)

    def name(self, stratum: str) -> str:
        """Name a stratum for humans; "" for all records."""
        return f"{self.by} = {visible(stratum)}" if stratum else ""

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on all guarantees."""
        remarks = []
        guaranteed = [p for p in self.of.values() if p is not None and p.threshold is not None]
        if self.simultaneous is not None:
            remarks.append(f"all of these hold together with probability {1 - self.simultaneous:g}")
        elif len(guaranteed) > 1:
            remarks.append(
                "each of these holds separately with that probability; that all hold together is "
                "less probable"
            )
        if self.rules:
            remarks.append("the rules may revoke some of these; the guarantee does not cover that")
        return tuple(remarks)

    @property
    def lines(self) -> tuple[str, ...]:
        """All guarantees as text for humans, one per line."""
        lines = []
        for stratum, guarantee in self.of.items():
            name = self.name(stratum)
            lines.append((f"{name}: " if name else "") + _described(guarantee))
        return (*lines, *self.remarks)


def _described(guarantee: StoredGuarantee | None) -> str:
    if guarantee is None:
        return "no guarantee"
    if guarantee.threshold is None:
        return f"no guarantee: {guarantee.reason or 'none holds'}"
    sure = "" if guarantee.delta is None else f" with probability {1 - guarantee.delta:g}"
    part = "" if guarantee.accepted is None else f", of which it accepts {guarantee.accepted:.0%}"
    return (
        f"at most {100 * guarantee.alpha:g} % of the accepted are hallucinated{sure} "
        f"(risk at most {guarantee.threshold:g}, by {guarantee.n} graded answers{part})"
    )
