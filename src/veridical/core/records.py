"""The record: one answer and everything to check it against.

Offsets are Unicode code points, end exclusive, into the unaltered text.
"""

from __future__ import annotations

import hashlib
import math
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import to_json

from veridical.core.images import Picture
from veridical.errors import NotApplicable
from veridical.text.reasoning import answer_only
from veridical.text.spans import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Against = Literal["samples", "contexts", "reference"]
#: Fields that ``against="auto"`` tries, in order.
AUTO: tuple[Against, ...] = ("contexts", "reference", "samples")

_FROZEN = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, strict=False)


def clean_text(text: str) -> str:
    """Return ``text`` unaltered, or raise ``ValueError`` for a character that files and models
    cannot represent."""
    if "\x00" in text:
        raise ValueError(f"NUL character at offset {text.index(chr(0))}")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as e:
        raise ValueError(f"lone surrogate at offset {e.start}") from None
    return text


#: Maximum values in a JSON, YAML, XML or table answer; judging more takes minutes and gigabytes.
MAX_ANSWER_VALUES = 10_000
#: Maximum commas, lines and tags of an answer of any kind; beyond it, values are not counted.
MAX_ANSWER_SEPARATORS = 50_000
_SEPARATORS = ",;\t|\n<"


def clean_answer(text: str) -> str:
    """Return an answer unaltered, or raise ``ValueError`` if no file can represent it or it has too
    many values to judge."""
    if len(text) > MAX_ANSWER_VALUES:
        values = sum(map(text.count, _SEPARATORS))
        most = MAX_ANSWER_SEPARATORS
        if MAX_ANSWER_VALUES <= values <= most:
            from veridical.text.structure import read_structure

            structured = read_structure(text)
            blocks = structured.blocks if structured else ()
            values = sum(len(b.leaves) for b in blocks if b.kind != "pairs")
            most = MAX_ANSWER_VALUES
        if values > most:
            raise ValueError(
                f"{values} values, more than the {most} that can be judged; split the answer"
            )
    return clean_text(text)


#: A log-probability, above 0 only by rounding; strict, so that ``"0"`` and ``false`` are refused.
LogProbability = Annotated[float, Field(strict=True, le=1e-6, allow_inf_nan=False)]


class TopToken(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")
    token: str
    logprob: LogProbability


class TokenLogprob(BaseModel):
    """One generated token with its natural-log probability and the alternatives at its position.

    A token whose log-probability is null, and an entry that is null, keep their positions in the
    list; nothing is computed from them.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")
    token: str
    logprob: LogProbability | None
    top: tuple[TopToken, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _null(cls, value: Any) -> Any:
        return {"token": "", "logprob": None} if value is None else value

    @field_validator("top", mode="before")
    @classmethod
    def _without_nulls(cls, value: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            return () if value is None else value
        return [v for v in value if v is not None and not _lacks_logprob(v)]


class Sample(BaseModel):
    """Another answer to the same prompt. A null sample has neither text nor image: it keeps its
    position, and nothing is compared with it."""

    model_config = _FROZEN
    text: str | None = None
    image: str | None = None
    logprobs: tuple[TokenLogprob, ...] | None = None
    finish_reason: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        return {"text": value} if value is None or isinstance(value, str) else value

    @model_validator(mode="after")
    def _has_content(self) -> Sample:
        if self.text is None and self.image is None and "text" not in self.model_fields_set:
            raise ValueError("a sample needs 'text' or 'image'")
        if self.text is not None:
            clean_answer(self.text)
        return self


class Context(BaseModel):
    """A passage the response should be grounded in."""

    model_config = _FROZEN
    id: str | int | None = None
    text: str

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        if value is None:  # keeps its position among the contexts
            return {"text": ""}
        return {"text": value} if isinstance(value, str) else value

    @field_validator("text")
    @classmethod
    def _clean(cls, value: str) -> str:
        return clean_text(value)


class UnitLabel(BaseModel):
    """A human label on a piece of the response: 0 right to 1 hallucinated."""

    model_config = _FROZEN
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    label: Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True)
class Source:
    """A text that a response is compared with, and its position in the record."""

    kind: Literal["sample", "context", "reference"]
    index: int
    text: str

    def sentences(self) -> list[Span]:
        """Return the sentences of the text, at least one: the whole text if it is blank."""
        from veridical.text.sentences import split_sentences

        return split_sentences(self.text) or [Span(0, len(self.text), self.text)]


class Record(BaseModel):
    """One answer to check. Unknown keys belong in ``meta`` (the readers put them there).

    For an answer that is an image, ``response_image`` is a ``data:`` URL and ``response`` is empty.
    """

    model_config = _FROZEN

    row: int = Field(default=0, ge=0)
    id: str | int | None = None
    prompt: str | list[dict[str, Any]] | None = None
    response: str
    response_image: str | None = Field(default=None, exclude_if=lambda image: image is None)
    samples: tuple[Sample, ...] = ()
    contexts: tuple[Context, ...] = ()
    reference: tuple[str, ...] = ()
    logprobs: tuple[TokenLogprob, ...] | None = None
    given_sentences: tuple[tuple[int, int], ...] | None = Field(default=None, alias="sentences")
    label: Annotated[float, Field(ge=0, le=1)] | None = None
    unit_labels: tuple[UnitLabel, ...] | None = None
    meta: dict[str, Any] = Field(default_factory=dict)

    @field_validator("samples", "contexts", "reference", mode="before")
    @classmethod
    def _listed(cls, value: Any, info: ValidationInfo) -> Any:
        if value is None:
            return ()
        if info.field_name == "reference":
            listed = value if isinstance(value, (list, tuple)) else (value,)
            texts = [_reference(v) for v in listed]
            return texts if listed is value or isinstance(texts[0], str) else value
        return (value,) if isinstance(value, (str, dict)) else value

    @field_validator("label", mode="before")
    @classmethod
    def _numeric_label(cls, value: Any) -> Any:
        if isinstance(value, str):
            raise ValueError("must be a number from 0 (right) to 1 (hallucinated), or a bool")
        return value

    @field_validator("response")
    @classmethod
    def _clean_response(cls, value: str) -> str:
        return clean_answer(value)

    @field_validator("id")
    @classmethod
    def _clean(cls, value: Any) -> Any:
        return clean_text(value) if isinstance(value, str) else value

    @field_validator("prompt")
    @classmethod
    def _clean_prompt(cls, value: Any) -> Any:
        for text in _strings(value):
            clean_text(text)
        return value

    @field_validator("reference")
    @classmethod
    def _clean_all(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            clean_text(text)
        return value

    @model_validator(mode="after")
    def _spans_fit(self) -> Record:
        n = len(self.response)
        before = 0
        for i, (start, end) in enumerate(self.given_sentences or ()):
            if not 0 <= start <= end <= n:
                raise ValueError(f"sentences[{i}]: [{start}, {end}] is outside the response ({n})")
            if start < before:
                raise ValueError(f"sentences[{i}]: [{start}, {end}] overlaps the one before it")
            before = end
        for i, u in enumerate(self.unit_labels or ()):
            if not u.start <= u.end <= n:
                raise ValueError(f"unit_labels[{i}]: [{u.start}, {u.end}] is outside the response")
        return self

    def digest(self) -> str:
        """Return a hash of the record, 32 hex digits, to detect changes."""
        try:
            hashed = self._each_image(lambda url: Picture(url).digest)
            content = to_json(hashed, by_alias=True, inf_nan_mode="constants", fallback=repr)
        except ValueError:  # bytes that are not text, which data frames may contain
            content = repr(self).encode("utf-8", "backslashreplace")
        return hashlib.blake2b(content, digest_size=16).hexdigest()

    @cached_property
    def sentences(self) -> tuple[Span, ...]:
        """Sentences of the response: the given ones, else by the built-in splitter; of JSON, YAML,
        XML or a table, its values."""
        if self.given_sentences is not None:
            return tuple(Span(s, e, self.response[s:e]) for s, e in self.given_sentences)
        from veridical.text.structure import answer_units

        spans = [unit.span for unit in answer_units(self.answer)]
        return tuple(Span(s.start, s.end, self.response[s.start : s.end]) for s in spans)

    @cached_property
    def answer(self) -> str:
        """The response with reasoning and special tokens blanked, as they state nothing
        (:mod:`veridical.text.reasoning`). Offsets are those of the response."""
        return answer_only(self.response)

    def has(self, field: str) -> bool:
        """Return True if a field contains something to check by: non-blank text, an image or a
        known log-probability."""
        value = getattr(self, field, None)
        if field in ("samples", "contexts", "reference"):
            return any(_has_something(v) for v in value or ())
        if field == "logprobs":
            return any(t.logprob is not None for t in value or ())
        return bool(value)

    @property
    def sample_texts(self) -> list[str]:
        """Texts of the samples that have one, in order."""
        return [s.text for s in self.samples if s.text is not None]

    def against(
        self, what: Against | Literal["auto"], auto: Sequence[Against] = AUTO
    ) -> list[Source]:
        """Return the texts to compare the response with, each with its position in the record.

        Args:
            auto: fields that ``"auto"`` tries, in order.

        Raises:
            NotApplicable: there is no such text.
        """
        if what == "auto":
            for field in auto:
                with suppress(NotApplicable):
                    return self.against(field)
            raise NotApplicable(f"the record has no {', '.join(auto[:-1])} or {auto[-1]}")
        sources: Sequence[Source]
        if what == "samples":
            texts = [answer_only(s.text or "") for s in self.samples]
            sources = [Source("sample", i, text) for i, text in enumerate(texts) if text.strip()]
        elif what == "contexts":
            texts = [c.text for c in self.contexts]
            sources = [Source("context", i, text) for i, text in enumerate(texts) if text.strip()]
        else:
            texts = list(self.reference)
            sources = [Source("reference", i, text) for i, text in enumerate(texts) if text.strip()]
        if not sources:
            if what == "samples" and any(s.image for s in self.samples):
                raise NotApplicable("the samples are images, and this scorer compares texts")
            raise NotApplicable(f"the record has no {what}")
        return list(sources)

    def without_images(self) -> Record:
        """Return the record with an empty URL for each image, for readers of texts."""
        return self._each_image(lambda url: "data:")

    def _each_image(self, change: Callable[[str], str]) -> Record:
        """Return the record with each image's URL changed; the record itself if it has no image."""
        image = self.response_image
        if image is None and not any(s.image is not None for s in self.samples):
            return self
        samples = tuple(
            s if s.image is None else s.model_copy(update={"image": change(s.image)})
            for s in self.samples
        )
        changed = {"samples": samples, "response_image": None if image is None else change(image)}
        return self.model_copy(update=changed)

    def need_images(self, *, response: bool) -> dict[str, Picture]:
        """Return the images of the samples by field name, after the response's if ``response`` is
        true.

        Raises:
            NotApplicable: the response is a text, or a response image is required and missing; or
                no
                sample is an image.
        """
        if self.response.strip():
            raise NotApplicable("the response is a text, and this scorer compares images")
        images = {f"samples[{i}].image": s.image for i, s in enumerate(self.samples)}
        found = {place: Picture(url) for place, url in images.items() if url is not None}
        if not found:
            raise NotApplicable("no sample is an image")
        if not response:
            return found
        if self.response_image is None:
            raise NotApplicable("the response is not an image")
        return {"response.image": Picture(self.response_image), **found}

    def need_response(self) -> str:
        """Return the response; raise :class:`NotApplicable` if it is blank."""
        if not self.response.strip():
            if self.response_image is not None:
                raise NotApplicable("the response is an image, and this scorer compares texts")
            raise NotApplicable("the response is empty")
        return self.response

    def need_answer(self) -> str:
        """Return :attr:`answer`; raise :class:`NotApplicable` if it is blank."""
        self.need_response()
        if not self.answer.strip():
            raise NotApplicable("the response holds no answer, only reasoning or special tokens")
        return self.answer

    def need_sentences(self) -> list[Span]:
        """Return the sentences that are not blank; raise :class:`NotApplicable` if all
        are blank."""
        self.need_answer()
        sentences = [s for s in self.sentences if self.answer[s.start : s.end].strip()]
        if not sentences:
            raise NotApplicable("the response has no sentences")
        return sentences


def _reference(value: Any) -> Any:
    """Return a number or truth value as text, and "" for null, so that others keep their
    positions."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value) if isinstance(value, (int, float)) and abs(value) < math.inf else value


def _has_something(value: str | Context | Sample) -> bool:
    if isinstance(value, Sample):
        return value.image is not None or value.text is not None
    return bool((value if isinstance(value, str) else value.text).strip())


def _lacks_logprob(value: Any) -> bool:
    return isinstance(value, dict) and "logprob" in value and value["logprob"] is None


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [s for k, v in value.items() for s in (*_strings(k), *_strings(v))]
    if isinstance(value, list):
        return [s for v in value for s in _strings(v)]
    return []
