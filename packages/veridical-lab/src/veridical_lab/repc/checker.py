"""Claims judged by classifiers on a language model's hidden states."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from veridical.errors import UsageError
from veridical_lab.repc.model import read_repc
from veridical_lab.repc.prompt import pieces, template

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from veridical.claims.claim import Claim
    from veridical.core.evidence import Evidence

_TOGETHER = 64  # pairs whose states are held at once


@dataclass(frozen=True)
class RepcChecker:
    """RepC checker, trained by ``veridical train repc``.

    The passage is the premise, the claim the hypothesis, and the model in the file ``model`` judges
    the last hidden states of ``proxy``.

    Args:
        proxy: the language model; the run's own if None.

    Raises:
        UsageError: no model is named.

    Source:
        Hu et al. 2024 (RefChecker), section 4.2.
    """

    model: str = ""
    proxy: str | None = None

    def __post_init__(self) -> None:
        if not self.model:
            raise UsageError(
                "name the trained model: claims(checker=repc, model=PATH, proxy=MODEL)"
            )

    async def __call__(
        self,
        pairs: Sequence[tuple[Claim, str]],
        evidence: Evidence,
        alternatives: Sequence[Sequence[int]] = (),
    ) -> NDArray[np.float64]:
        """Return probabilities (n, 3) of each (claim, passage).

        Raises:
            UsageError: the file is unusable, or was trained with another proxy.
            NotApplicable: no proxy was named.
            ModelError: the proxy returns no hidden states, or failed on a text.
        """
        repc = await asyncio.to_thread(read_repc, self.model)
        name, revision = await evidence.proxy_identity(self.proxy)
        if revision != repc.revision:
            raise UsageError(
                f"{self.model} was trained with the hidden states of {repc.proxy} "
                f"({repc.revision}), not of {name} ({revision})"
            )
        frame = await template(evidence, self.proxy)
        texts = [pieces(frame, passage, claim.text) for claim, passage in pairs]

        async def judge(batch: list[tuple[str, ...]]) -> NDArray[np.float64]:
            states = await evidence.hidden(batch, self.proxy, repc.layers)
            return await asyncio.to_thread(repc.probabilities, states)

        batches = (texts[i : i + _TOGETHER] for i in range(0, len(texts), _TOGETHER))
        return np.concatenate([np.zeros((0, 3)), *await asyncio.gather(*map(judge, batches))])
