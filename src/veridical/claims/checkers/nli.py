"""Claim checker by NLI: passage as premise, claim as hypothesis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from veridical.claims.claim import Claim
    from veridical.core.evidence import Evidence


@dataclass(frozen=True)
class NliChecker:
    """Checker by the run's NLI model, or the one called ``nli``.

    Names are those of :func:`veridical.models.load_nli`, including AlignScore and fine-tuned
    checkpoints. For a model without a contradiction class, neutral means "not entailed".

    Source: Hu et al. 2024 (RefChecker), section 4.2, "RoBERTa-NLI".
    """

    nli: str | None = None

    async def __call__(
        self,
        pairs: Sequence[tuple[Claim, str]],
        evidence: Evidence,
        alternatives: Sequence[Sequence[int]] = (),
    ) -> NDArray[np.float64]:
        """Return the (n, 3) probabilities of each (claim, passage).

        Raises:
            NotApplicable: the model does not support the script of most texts.
            ModelError: the model failed on one of the pairs.
        """
        texts = [(passage, claim.text) for claim, passage in pairs]
        verdicts = await evidence.nli(texts, self.nli)
        return verdicts.probabilities
