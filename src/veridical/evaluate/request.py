"""What a benchmark was asked for, checked before any work."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast, get_args

from veridical.errors import UsageError
from veridical.evaluate.datasets.suite import Options
from veridical.evaluate.figures import Settings
from veridical.evaluate.protocol import Protocol
from veridical.records import Against

if TYPE_CHECKING:
    from veridical.llm.sampling import Sampling


@dataclass(frozen=True)
class Request:
    """The request, suites and scorers aside: see :func:`veridical.evaluate.runner.bench`.

    Raises:
        UsageError: a value that cannot be meant, by name.
    """

    splits: tuple[str, ...]
    samples: tuple[int, ...]
    protocol: Protocol
    options: Options
    limit: int | None
    figures: Settings
    study: bool
    famd: tuple[str, ...]
    grader: str | None = None
    sampling: Sampling | None = None
    against: Against | None = None
    multi_sentence: bool = False
    judge: str | None = None

    def __post_init__(self) -> None:
        beta = self.figures.beta
        if self.protocol not in get_args(Protocol):
            raise UsageError(f"protocol is quick or full, not {self.protocol!r}")
        if self.samples and self.samples[0] < 1:
            raise UsageError(f"samples must be at least 1, not {self.samples[0]}")
        if self.against is not None and self.against not in get_args(Against):
            raise UsageError(f"against is {', '.join(get_args(Against))}, not {self.against!r}")
        if self.figures.bootstrap < 0:
            raise UsageError(f"bootstrap must be 0 or more, not {self.figures.bootstrap}")
        if self.figures.seed < 0:
            raise UsageError(f"seed must be 0 or more, not {self.figures.seed}")
        if beta is not None and not 0 < beta < math.inf:
            raise UsageError(f"beta must be a number above 0, not {beta:g}")
        if self.limit is not None and self.limit < 1:
            raise UsageError(f"limit must be at least 1, not {self.limit}")
        if self.famd and not self.study:
            raise UsageError("factor analysis belongs to the study (--famd to --study)")
        if len(self.famd) == 1:
            raise UsageError("factor analysis needs at least two scorers (--famd)")
        if self.famd and importlib.util.find_spec("prince") is None:
            raise UsageError("factor analysis needs prince: pip install veridical[meta]")
        if self.sampling is not None:
            self._check_sampling(self.sampling)

    def _check_sampling(self, sampling: Sampling) -> None:
        if sampling.adaptive is not None:
            raise UsageError("a benchmark draws as many samples of every answer: n is one number")
        if sampling.response == "given":
            raise UsageError("questions come without a response: it is greedy, or the first draw")
        if self.samples and self.samples[-1] > sampling.n:
            raise UsageError(
                f"figures of {self.samples[-1]} samples are asked for (--samples), and "
                f"{sampling.n} are drawn (--n)"
            )

    @classmethod
    def of(
        cls,
        *,
        split: str | Sequence[str] | None,
        samples: int | Sequence[int] | None,
        protocol: str,
        keep_generic: bool,
        mapping: Mapping[str, str] | None,
        limit: int | None,
        figures: Settings,
        study: bool,
        famd: Sequence[str],
        grader: str | None = None,
        sampling: Sampling | None = None,
        against: str | None = None,
        multi_sentence: bool = False,
        judge: str | None = None,
    ) -> Request:
        """The request as users put it: names in one text or a list, one number or several."""
        parts = split.split(",") if isinstance(split, str) else split or ()
        counts = [samples] if isinstance(samples, int) else samples or ()
        return cls(
            splits=tuple(p.strip() for p in parts if p.strip()),
            samples=tuple(sorted(set(counts))),
            protocol=cast(Protocol, protocol),
            options=Options(keep_generic=keep_generic, mapping=dict(mapping or {})),
            limit=limit,
            figures=figures,
            study=study,
            famd=tuple(famd),
            grader=grader,
            sampling=sampling,
            against=cast("Against | None", against),
            multi_sentence=multi_sentence,
            judge=judge,
        )

    def settings(self, has_data: bool) -> dict[str, Any]:
        """The request for print, and for the identity of what comes of it."""
        if not has_data:
            return {"as_published": self.figures.as_published}
        return {
            "protocol": self.protocol,
            "seed": self.figures.seed,
            "bootstrap": self.figures.bootstrap,
            "samples": list(self.samples) or None,
            "split": list(self.splits) or None,
            "limit": self.limit,
            "keep_generic": self.options.keep_generic,
            "as_published": self.figures.as_published,
            "beta": self.figures.beta,
            "study": self.study,
            "famd": list(self.famd) or None,
            **({"map": dict(self.options.mapping)} if self.options.mapping else {}),
            **({"grader": self.grader} if self.grader else {}),
            **({"sampling": self.sampling.parameters()} if self.sampling else {}),
            **({"against": self.against} if self.against else {}),
            **({"multi_sentence": True} if self.multi_sentence else {}),
            **({"judge": self.judge} if self.judge else {}),
        }
