"""HalluDetect: a trained classifier of four token-probability features (Quevedo et al. 2024)."""

from __future__ import annotations

from typing import Any

import numpy as np

from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.errors import UsageError
from veridical.scorers.probability._readings import Condition, read_response
from veridical.scorers.probability._units import riskiest_tokens
from veridical_lab.scorers.halludetect_features import FEATURES, features
from veridical_lab.scorers.halludetect_model import Detector, ModelFile, read_detector


def _detector(model: str | None, proxy: str | None, condition: Condition) -> Detector:
    if model is None:
        raise UsageError("name the trained model: halludetect(model=PATH)")
    detector = read_detector(model)
    if detector.proxy != proxy or (proxy is not None and detector.condition != condition):
        raise UsageError(
            f"the model was trained with {_told(detector.proxy, detector.condition)}, "
            f"not {_told(proxy, condition)}"
        )
    return detector


@scorer(
    "halludetect",
    level="response",
    needs={"logprobs"},
    source="Quevedo 2024; Besta 2025, appendix C",
    cost="probabilities",
    raw_is="risk",
    raw_key="log_odds",
    check=lambda model, proxy, condition: _detector(model, proxy, condition),
)
async def halludetect(
    record: Record,
    evidence: Evidence,
    *,
    model: ModelFile | None = None,
    proxy: str | None = None,
    condition: Condition = "all",
) -> Score:
    """Estimate the probability of a hallucination by a trained classifier.

    It is trained with ``veridical train halludetect``.

    Args:
        model: its file (JSON or safetensors).
        proxy: language model that reads the response, the same as in training; None uses the
            record's own ``logprobs``.
        condition: text that a proxy reads before it: the contexts and the prompt, only the prompt,
            or nothing; as in training.

    ``raw`` has the classifier's ``log_odds`` and the four features:

    - minimum (``mtp``) and average (``avgtp``) token probability;
    - the maximum difference between the most likely token and the actual one (``mpd``);
    - the minimum spread between the most and the least likely token (``mps``).

    The risk is the sigmoid of the log-odds. The units are the 16 least likely tokens.

    Raises:
        UsageError: no model is named, or it was trained with another proxy or condition.
        NotApplicable: the response is blank, has no log-probabilities and no proxy is named, or
            they lack the most likely tokens.
        MisalignedTokens: the record's tokens do not spell its response.
        ModelError: the proxy failed.
    """
    detector = _detector(model, proxy, condition)
    reading = await read_response(record, evidence, proxy, condition)
    values = features(reading.tokens)
    log_odds = float(detector.log_odds(values[None, :])[0])
    raw: dict[str, Any] = {"log_odds": log_odds}
    raw |= dict(zip(FEATURES, values.tolist(), strict=True))
    p = np.exp(reading.tokens.logprobs)
    units = riskiest_tokens(reading, p, 1 - p)
    return Score.of(float(detector.risk(values[None, :])[0]), raw=raw, units=units)


def _told(proxy: str | None, condition: str) -> str:
    return "the records' own logprobs" if proxy is None else f"proxy={proxy}, condition={condition}"
