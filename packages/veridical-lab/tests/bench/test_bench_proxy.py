"""A benchmark whose scorers are set to read by the run's proxy."""

from __future__ import annotations

from pathlib import Path

import graded_data
import pytest

import veridical
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import REGISTRY, scorer
from veridical.core.scores import Score


@pytest.mark.parametrize("names", ["t_read, t_read(against=contexts)", "t_read"])
def test_scorers_are_found_by_the_keys_they_have_with_a_proxy(tmp_path: Path, names: str) -> None:
    @scorer("t_read", level="response", source="test")
    async def t_read(
        record: Record, evidence: Evidence, *, against: str = "samples", proxy: str | None = None
    ) -> Score:
        """What the record says, whoever reads it."""
        assert proxy == "reader"
        return Score.of(float(record.meta["signal"]))

    data = graded_data.write(tmp_path, graded_data.rows(40, 40))
    try:
        made = veridical.bench("graded", data, names, proxy="reader", bootstrap=0)
    finally:
        REGISTRY._scorers.pop("t_read")
    assert "t_read(proxy=reader)" in {row.scorer for row in made.rows}
    scorers = {key: s for key, s in made.signatures.items() if key != "quantile_mean"}
    assert scorers and all("proxy:reader" in signature for signature in scorers.values())
