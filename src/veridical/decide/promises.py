"""What a policy promises by the guarantee of its ensemble: told at the end of a run, and kept in
its directory for the report."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from veridical.decide.ensemble_file import Ensemble, Promise
from veridical.io.problems import visible

#: In the run directory, where the newest command's policy promises anything.
PROMISES = "promises.json"


class Promises(BaseModel):
    """The promises that a policy relies on.

    Attributes:
        by: field of ``meta`` that names the strata; None where one promise is of all records.
        of: stratum -> its promise, None where it has none; of all records under "".
        simultaneous: all hold at once with probability 1 minus this; None where each is by itself.
        rules: whether rules may review or reject what would be accepted.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    by: str | None
    of: dict[str, Promise | None]
    simultaneous: float | None = None
    rules: bool = False

    @classmethod
    def made(cls, ensemble: Ensemble, rules: bool) -> Promises:
        """Those of a tuned ensemble; of all records only where it has no strata, for of the whole
        mix they say nothing about one stratum."""
        found = ensemble.strata
        if found is None or not found.of:
            by = None if found is None else found.by
            return cls(by=by, of={"": ensemble.fit.guarantee}, rules=rules)
        of = {name: fit.guarantee for name, fit in found.of.items()}
        return cls(by=found.by, of=of, simultaneous=found.simultaneous, rules=rules)

    @classmethod
    def load(cls, run: Path) -> Promises | None:
        """Those that :meth:`save` kept in a run directory; None where there are none."""
        try:
            return cls.model_validate_json((run / PROMISES).read_bytes())
        except (OSError, ValueError):
            return None

    def save(self, run: Path) -> None:
        """Keep them in a run directory."""
        from veridical.evidence.rundir import write_atomic

        write_atomic(run / PROMISES, self.model_dump_json() + "\n")

    def name(self, stratum: str) -> str:
        """A stratum for people; "" of all records."""
        return f"{self.by} = {visible(stratum)}" if stratum else ""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What goes for all of them."""
        said = []
        kept = [p for p in self.of.values() if p is not None and p.threshold is not None]
        if self.simultaneous is not None:
            said.append(f"all of these hold together with probability {1 - self.simultaneous:g}")
        elif len(kept) > 1:
            said.append(
                "each of these holds by itself with that probability; that all hold together is "
                "less probable"
            )
        if self.rules:
            said.append("the rules may take some of those back; the guarantee does not cover that")
        return tuple(said)

    @property
    def lines(self) -> tuple[str, ...]:
        """All of it for people, a promise a line."""
        told = []
        for stratum, promise in self.of.items():
            name = self.name(stratum)
            told.append((f"{name}: " if name else "") + _told(promise))
        return (*told, *self.remarks)


def _told(promise: Promise | None) -> str:
    if promise is None:
        return "no guarantee"
    if promise.threshold is None:
        return f"no guarantee: {promise.reason or 'none holds'}"
    sure = "" if promise.delta is None else f" with probability {1 - promise.delta:g}"
    part = "" if promise.accepted is None else f", of which it accepts {promise.accepted:.0%}"
    return (
        f"at most {100 * promise.alpha:g} % of the accepted are hallucinated{sure} "
        f"(risk at most {promise.threshold:g}, by {promise.n} graded answers{part})"
    )
