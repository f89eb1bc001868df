"""Scoring of visible text: invisible characters are removed, locations mapped back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json, to_json

from veridical.core.scores import ScoreJson
from veridical.text.invisible import VisibleText, visible

if TYPE_CHECKING:
    from veridical.core.records import Record, TokenLogprob
    from veridical.engine.verdict import RecordVerdict


class VisibleRecord:
    """A record without invisible characters.

    Attributes:
        given: the unaltered record.
        removed: number of characters of the response that are not judged.
    """

    def __init__(self, given: Record) -> None:
        self.given = given
        self._response = visible(given.response)
        self.removed = self._response.removed

    @cached_property
    def record(self) -> Record:
        """Record to score; the given one if it has no invisible characters."""
        given = self.given
        changed: dict[str, Any] = {}
        if self.removed:
            changed |= self._of_response()
        if isinstance(given.prompt, str) and (prompt := visible(given.prompt)).removed:
            changed["prompt"] = prompt.text
        if any(text.removed for text in self._contexts):
            changed["contexts"] = tuple(
                c.model_copy(update={"text": text.text})
                for c, text in zip(given.contexts, self._contexts, strict=True)
            )
        if any(text.removed for text in self._samples):
            changed["samples"] = tuple(
                s.model_copy(update={"text": text.text}) if text.removed else s
                for s, text in zip(given.samples, self._samples, strict=True)
            )
        if any(text.removed for text in self._reference):
            changed["reference"] = tuple(text.text for text in self._reference)
        return given.model_copy(update=changed) if changed else given

    @cached_property
    def _contexts(self) -> list[VisibleText]:
        return [visible(c.text) for c in self.given.contexts]

    @cached_property
    def _samples(self) -> list[VisibleText]:
        # tokens are compared with their text, so a text with tokens is not changed
        return [visible(s.text if s.text and not s.logprobs else "") for s in self.given.samples]

    @cached_property
    def _reference(self) -> list[VisibleText]:
        return [visible(text) for text in self.given.reference]

    def _of_response(self) -> dict[str, Any]:
        given, response = self.given, self._response
        changed: dict[str, Any] = {"response": response.text}
        if given.given_sentences is not None:
            changed["given_sentences"] = tuple(
                (response.inner_place(start), response.inner_place(end))
                for start, end in given.given_sentences
            )
        if given.unit_labels is not None:
            changed["unit_labels"] = tuple(
                u.model_copy(
                    update={
                        "start": response.inner_place(u.start),
                        "end": response.inner_place(u.end),
                    }
                )
                for u in given.unit_labels
            )
        if given.logprobs and "".join(t.token for t in given.logprobs) == given.response:
            changed["logprobs"] = tuple(self._tokens(given.logprobs))
        return changed

    def _tokens(self, tokens: tuple[TokenLogprob, ...]) -> Iterator[TokenLogprob]:
        at = 0
        for token in tokens:
            end = at + len(token.token)
            seen = self._response.text[
                self._response.inner_place(at) : self._response.inner_place(end)
            ]
            yield token if seen == token.token else token.model_copy(update={"token": seen})
            at = end

    def placed(self, judged: RecordVerdict) -> RecordVerdict:
        """Return the result with offsets, and the texts at them, in the given record."""
        if self.record is self.given:
            return judged
        scores = {key: self._score(scored) for key, scored in judged.scores.items()}
        fields = judged.fields
        if fields is not None:
            fields = [self._field(found) for found in fields]
        return judged._replace(scores=scores, fields=fields)

    def _score(self, scored: ScoreJson) -> ScoreJson:
        score = from_json(scored.text)
        if not score["units"]:
            return scored
        units = [self._unit(unit) for unit in score["units"]]
        return ScoreJson(scored.risk, to_json({**score, "units": units}))

    def _unit(self, unit: Mapping[str, Any]) -> dict[str, Any]:
        place = _slice(self._response, self.given.response, unit["start"], unit["end"])
        return {**unit, **place, "evidence": [self._evidence(e) for e in unit["evidence"]]}

    def _field(self, found: Mapping[str, Any]) -> dict[str, Any]:
        start, end = self._response.outer_slice(found["start"], found["end"])
        evidence = [self._evidence(e) for e in found["evidence"]]
        return {**found, "start": start, "end": end, "evidence": evidence}

    def _evidence(self, found: Any) -> Any:
        item = found if isinstance(found, Mapping) else found.model_dump()
        kind, index = item["kind"], item["index"]
        if kind == "token":
            seen, text = self._response, self.given.response
        elif kind == "context" and index < len(self._contexts):
            seen, text = self._contexts[index], self.given.contexts[index].text
        elif kind == "sample" and index < len(self._samples):
            seen, text = self._samples[index], self.given.samples[index].text or ""
        elif kind == "reference" and index < len(self._reference):
            seen, text = self._reference[index], self.given.reference[index]
        else:
            return found
        if not seen.removed:
            return found
        return {**item, **_slice(seen, text, item["start"], item["end"])}


def _slice(seen: VisibleText, text: str, start: int, end: int) -> dict[str, Any]:
    begin, stop = seen.outer_slice(start, end)
    return {"start": begin, "end": stop, "text": text[begin:stop]}
