"""Results of the CheckEmbed studies, as JSON.

Similarities are in [-1, 1], 1 for the same text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel

from veridical.stats.tables import STORED_MODEL

#: The file of it in the folder of the run.
STORED = "studies.json"


class Replies(BaseModel):
    """Counts of the requests of a study.

    ``asked``: requested replies. ``marked``: in the requested form. ``whole``: without headings,
    taken whole. ``unusable``: without a recognisable text. ``failed``: not received. ``cut``:
    usable ones that end at the limit of tokens. ``reasons``: failures by count.
    """

    model_config = STORED_MODEL
    study: str
    asked: int
    marked: int
    whole: int
    unusable: int
    failed: int
    cut: int
    reasons: dict[str, int] = {}

    @property
    def usable(self) -> int:
        """Replies whose texts are measured."""
        return self.marked + self.whole


class Value(BaseModel):
    """Similarity by ``scorer``.

    ``pairs``: of the two passages of a reply. ``errors``: of a passage with ``level`` errors to
    those without. ``counting``: among the images of a prompt of which ``level`` are wrong.
    """

    model_config = STORED_MODEL
    study: str
    kind: str
    topic: str
    level: int
    draw: int
    scorer: str
    value: float


class Summary(BaseModel):
    """Similarities of one kind and level by one scorer.

    With population standard deviation, quartiles, and the 95 % interval of the mean over topics.
    """

    model_config = STORED_MODEL
    study: str
    kind: str
    level: int
    scorer: str
    n: int
    mean: float
    std: float
    low: float
    q1: float
    median: float
    q3: float
    high: float
    ci_low: float | None
    ci_high: float | None


class Separation(BaseModel):
    """Separation of two kinds by a scorer.

    ``auroc`` is the share of correctly ordered pairs of one of each (0.5 is chance), with its 95 %
    interval over topics. ``overlap`` is the share of values in the range that both kinds have.
    """

    model_config = STORED_MODEL
    study: str
    kind: str
    level: int
    scorer: str
    auroc: float
    ci_low: float | None
    ci_high: float | None
    overlap: float
    n_similar: int
    n_different: int


class Trend(BaseModel):
    """Similarity by the number of forced errors, or of wrong images.

    Spearman's correlation over passages or prompts (-1 always decreases) with its 95 % interval
    over topics. ``apart_from``: the fewest errors from which every similarity is below all those
    without errors, or None.
    """

    model_config = STORED_MODEL
    study: str = "errors"
    kind: str
    scorer: str
    spearman: float | None
    ci_low: float | None
    ci_high: float | None
    apart_from: int | None
    n: int


class Matrix(BaseModel):
    """Similarities of all pairs of texts of a group, the ground truth last if there is one.

    ``mean``, ``std`` and ``frobenius`` cover the replies' entries off the diagonal; ``truth_mean``
    covers the row of the ground truth.
    """

    model_config = STORED_MODEL
    measure: str
    values: list[list[float]]
    mean: float
    std: float
    frobenius: float
    truth_mean: float | None


class Group(BaseModel):
    """The replies to one request: ``order`` names the rows of each of its matrices."""

    model_config = STORED_MODEL
    study: str
    kind: str
    topic: str
    level: int
    order: list[str]
    matrices: list[Matrix]


class TermScore(BaseModel):
    """Terms extracted from a chunk, means over its replies; ``expected`` are people's. Without
    any expected there is no figure but the number that was ``extracted``."""

    model_config = STORED_MODEL
    topic: str
    n: int
    expected: int
    extracted: float
    precision: float | None
    recall: float | None
    f1: float | None


class Timing(BaseModel):
    """Seconds that a scorer took over ``k`` texts of ``words`` words each.

    The model is warm, nothing is stored; the minimum of ``repeats``.
    """

    model_config = STORED_MODEL
    embedder: str
    scorer: str
    k: int
    words: int
    tokens: int
    seconds: float
    repeats: int


class Studies(BaseModel):
    """All studies of a run, stored in ``folder``.

    ``coverage``: by study and scorer, the share of texts with a score. ``seconds``: duration of the
    session that ended the run, on ``cores`` cores.
    """

    model_config = STORED_MODEL
    studies: list[str]
    run: str
    folder: str
    created: str
    version: str
    llm: str | None
    local: bool
    seconds: float = 0.0
    cores: int = 1
    models: dict[str, str] = {}
    settings: dict[str, Any] = {}
    replies: list[Replies] = []
    coverage: dict[str, dict[str, float]] = {}
    reasons: dict[str, dict[str, int]] = {}
    summaries: list[Summary] = []
    separations: list[Separation] = []
    trends: list[Trend] = []
    groups: list[Group] = []
    terms: list[TermScore] = []
    timings: list[Timing] = []
    values: list[Value] = []
    notes: list[str] = []
    ledger: dict[str, Any] | None = None

    def write(self, path: Path) -> None:
        """Store as JSON, whole or not at all."""
        from veridical.files.atomic import write_atomic

        write_atomic(path, self.model_dump_json() + "\n", private=True)
