"""Records for scoring, and the groups of the matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from veridical.core.records import Record, Sample
from veridical_lab.studies.checkembed.asks import Chunk
from veridical_lab.studies.checkembed.generating import Written

Key = tuple[str, str, int]  # kind, topic, level


@dataclass(frozen=True)
class Replied:
    """Replies to one request, with the ground truth.

    Attributes:
        texts: of the replies.
        truth: the ground truth, or None.
        source: the subject of the request: COMET's source.
    """

    study: str
    key: Key
    texts: tuple[str, ...]
    truth: str | None
    source: str

    @property
    def order(self) -> list[str]:
        """Names of the rows of its matrices."""
        names = [f"reply {i + 1}" for i in range(len(self.texts))]
        return names if self.truth is None else [*names, "ground truth"]

    def record(self) -> Record:
        """Return its texts as samples, so that one matrix contains all pairs.

        The ground truth is the last sample, and the source a reference.
        """
        texts = self.texts if self.truth is None else (*self.texts, self.truth)
        return Record(
            id="/".join(map(str, (self.study, *self.key))),
            response=texts[0],
            samples=tuple(Sample(text=t) for t in texts),
            reference=(self.source,),
        )


def pair_records(written: Sequence[Written]) -> list[Record]:
    """Return a record per reply: its first passage with its second."""
    return [
        Record(id=w.ask.id, response=w.texts[0], samples=(Sample(text=w.texts[1]),))
        for w in written
        if w.texts
    ]


def error_records(written: Sequence[Written]) -> list[Record]:
    """Return a record per passage, with the error-free passages on the same topic.

    The one of the same draw is left out for all. So error-free passages are not compared with
    themselves, and each has the same number.
    """
    truths = _truths(written)
    records = []
    for w in written:
        others = [t for d, t in truths.get((w.ask.kind, w.ask.topic), ()) if d != w.ask.draw]
        if w.texts and others:
            samples = tuple(Sample(text=t) for t in others)
            records.append(Record(id=w.ask.id, response=w.texts[0], samples=samples))
    return records


def groups_of(study: str, written: Sequence[Written], chunks: Mapping[str, Chunk]) -> list[Replied]:
    """Return the groups of ``errors`` and ``terms`` with at least two texts.

    The ground truth of passages with errors is the first passage without. For terms it is the human
    list, None if that is empty.
    """
    by_key: dict[Key, list[Written]] = {}
    for w in written:
        if w.texts:
            by_key.setdefault((w.ask.kind, w.ask.topic, w.ask.level), []).append(w)
    truths = _truths(written)
    groups = []
    for key, of_key in by_key.items():
        kind, topic, level = key
        texts = [w.texts[0] for w in of_key]
        truth: str | None
        if study == "terms":
            truth, source = chunks[topic].truth or None, chunks[topic].text
        else:
            right = [t for _, t in truths.get((kind, topic), ())]
            truth, source = (right[0] if right else None), topic
            if level == 0:
                texts = texts[1:]
        if len(texts) > 1:
            groups.append(Replied(study, key, tuple(texts), truth, source))
    return groups


def _truths(written: Sequence[Written]) -> dict[tuple[str, str], list[tuple[int, str]]]:
    """Return error-free passages with their draws, by kind and topic."""
    truths: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for w in written:
        if w.ask.study == "errors" and w.ask.level == 0 and w.texts:
            truths.setdefault((w.ask.kind, w.ask.topic), []).append((w.ask.draw, w.texts[0]))
    return truths
