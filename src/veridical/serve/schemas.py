"""Schemas of requests and responses, for validation and ``/openapi.json``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from veridical.core.scores import Result
from veridical.core.verdict_cuts import Strictness
from veridical.serve.jobs import Status
from veridical.serve.offsets import Offsets

#: Maximum records of one request.
MOST_RECORDS = 256
MOST_JOB_RECORDS = 100_000
LONGEST_DEADLINE = 600_000

_TEXTS = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
#: Record in the schema; the server accepts every alias of a field too.
RECORD = {
    "type": "object",
    "required": ["response"],
    "properties": {
        "id": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "prompt": {"type": "string"},
        "response": {"type": "string", "description": "The answer to judge."},
        "contexts": {**_TEXTS, "description": "Texts that the answer must be grounded in."},
        "samples": {**_TEXTS, "description": "Other answers to the same prompt."},
        "reference": {**_TEXTS, "description": "Gold answers."},
    },
    "additionalProperties": True,
}

Row = Annotated[dict[str, JsonValue], Field(json_schema_extra=RECORD)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Scoring(_Body):
    """Scoring options."""

    scorers: Annotated[
        str | list[str] | None,
        Field(description="Scorers, as in `--scorers`; by default those of the preset."),
    ] = None
    preset: Literal["auto", "all", "fast"] = "auto"
    claims: Annotated[bool, Field(description="Also check claim by claim.")] = False
    strictness: Annotated[
        Strictness | None,
        Field(
            description="Operating point, as in `--strictness`; by default the policy's, or "
            "balanced."
        ),
    ] = None
    policy: Annotated[
        dict[str, JsonValue] | None,
        Field(description="Policy as an object, with the fields of a policy file."),
    ] = None

    @property
    def scorers_text(self) -> str | None:
        if self.scorers is None or isinstance(self.scorers, str):
            return self.scorers
        return ", ".join(self.scorers)


class CheckBody(Scoring):
    """Body of `POST /v1/check`."""

    records: Annotated[list[Row], Field(min_length=1, max_length=MOST_RECORDS)]
    units: Annotated[bool, Field(description="Include the units of scores.")] = True
    offsets: Annotated[
        Offsets, Field(description="Unit of start and end; JavaScript uses utf16.")
    ] = "codepoint"
    deadline_ms: Annotated[
        int | None,
        Field(
            ge=1,
            le=LONGEST_DEADLINE,
            strict=True,
            description="Time limit; scores completed by then are returned.",
        ),
    ] = None


class RepairBody(Scoring):
    """Body of `POST /v1/repair`."""

    records: Annotated[list[Row], Field(min_length=1, max_length=MOST_RECORDS)]
    how: Literal["drop", "rewrite"] = "drop"


class JobBody(Scoring):
    """Body of `POST /v1/jobs`."""

    records: Annotated[list[Row], Field(min_length=1, max_length=MOST_JOB_RECORDS)]


class CheckAnswer(BaseModel):
    """Result lines in the order of the records."""

    results: list[Result]
    unused: Annotated[
        list[str],
        Field(description="Columns of the records that are not used, if any."),
    ] = []


class JobState(BaseModel):
    """State of a job."""

    id: str
    status: Status
    created: float
    records: int | None
    errors: int | None
    total: int | None
    error: str | None


class JobList(BaseModel):
    jobs: list[JobState]


class ScorerRow(BaseModel):
    name: str
    level: str
    needs: list[str]
    cost: str
    presets: list[str]
    source: str
    summary: str


class ScorerList(BaseModel):
    scorers: list[ScorerRow]


class ModelRow(BaseModel):
    role: str
    name: str


class ModelList(BaseModel):
    """Loaded models."""

    models: list[ModelRow]


class Health(BaseModel):
    status: Literal["ok"] = "ok"


class Ready(BaseModel):
    status: Literal["ready"] = "ready"


class ProblemBody(BaseModel):
    """Problem document of RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[dict[str, Any]] | None = None
