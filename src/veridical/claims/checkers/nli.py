"""Claims judged by an NLI model: the passage is the premise, the claim the hypothesis."""

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
    """The run's NLI model, or the one called ``nli`` (as :func:`veridical.models.load_nli` reads
    it: AlignScore, a fine-tuned checker and the like come in by this name).

    Of a model without a class for contradiction, neutral means "not entailed".

    Source: Hu et al. 2024 (RefChecker), section 4.2, "RoBERTa-NLI".
    """

    nli: str | None = None

    async def __call__(
        self,
        pairs: Sequence[tuple[Claim, str]],
        evidence: Evidence,
        alternatives: Sequence[Sequence[int]] = (),
    ) -> NDArray[np.float64]:
        """(n, 3) probabilities of each (claim, passage).

        Raises:
            NotApplicable: the model does not read the script most of the texts are in.
            ModelError: the model failed on one of the pairs.
        """
        texts = [(passage, claim.text) for claim, passage in pairs]
        verdicts = await evidence.nli(texts, self.nli)
        return verdicts.probabilities
