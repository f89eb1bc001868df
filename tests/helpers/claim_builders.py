"""Judged claims made by hand for the claims view: overlapping, nested, conflicting, hostile."""

from __future__ import annotations

from typing import Any

from builders import HOSTILE

from veridical.core.records import Record, Source
from veridical.core.scores import EvidenceItem, Result, Score, Unit
from veridical.text.spans import Span

RESPONSE = "🚀 Ada Byron was a poet and wrote 3 books in 1840. She flew."
CONTEXTS = (
    "🌍 Ada Byron was a mathematician, not a poet. Her father was the poet.",
    "Ada Byron wrote a book in 1843. She was called a poet too.",
)


def place(text: str, within: str) -> tuple[int, int]:
    """Where ``text`` first stands."""
    at = within.index(text)
    return at, at + len(text)


def says(context: int, text: str, probability: float) -> EvidenceItem:
    """A slice of a context."""
    source = Source("context", context, CONTEXTS[context])
    return EvidenceItem.at(source, *place(text, source.text), probability)


def unit(start: int, end: int, label: str, *evidence: EvidenceItem, **more: Any) -> Unit:
    """A claim over ``RESPONSE[start:end]``."""
    risk = {"entailment": 0.1, "neutral": 0.7, "contradiction": 0.9}[label]
    rest = round((1 - 0.8) / 2, 3)
    chances = {x: 0.8 if x == label else rest for x in ("entailment", "neutral", "contradiction")}
    given = {"probabilities": chances, "raw": risk, **more}
    return Unit.of(
        Span(start, end, RESPONSE[start:end]), risk, level="claim", label=label,
        evidence=evidence, **given
    )  # fmt: skip


def claimed() -> tuple[Record, Result]:
    """Four claims: three share a subject, one lies within another, and sources disagree on one."""
    record = Record(
        row=0,
        id="claims",
        prompt="Who was Ada?",
        response=RESPONSE,
        contexts=[{"id": f"c{i}", "text": text} for i, text in enumerate(CONTEXTS)],
        meta={"model": "gpt-a"},
    )
    subject = place("Ada Byron", RESPONSE)
    poet, wrote = place("was a poet", RESPONSE), place("wrote 3 books in 1840.", RESPONSE)
    year, flew = place("in 1840", RESPONSE), place("She flew.", RESPONSE)
    units = [
        unit(subject[0], poet[1], "contradiction",
             says(0, "Ada Byron was a mathematician, not a poet.", 0.8),
             says(1, "She was called a poet too.", 0.6)),
        unit(*wrote, "neutral", says(1, "Ada Byron wrote a book in 1843.", 0.75)),
        unit(*year, "contradiction", says(1, "Ada Byron wrote a book in 1843.", 0.8)),
        unit(*flew, "entailment", says(0, "Her father was the poet.", 0.8)),
    ]  # fmt: skip
    told = [
        {"text": "Ada Byron was a poet", "triplet": ("Ada Byron", "was", "a poet"),
         "category": "contradiction/other", "conflict": True, "parts": (subject, poet),
         "says": ("contradiction", "entailment")},
        {"text": "Ada Byron wrote 3 books in 1840.", "triplet": None,
         "category": "unsupported/number", "conflict": False, "parts": (subject, wrote),
         "says": ("neutral",)},
        {"text": "It was in 1840", "triplet": None, "category": "contradiction/date",
         "conflict": False, "parts": (), "says": ("contradiction",)},
        {"text": "She flew.", "triplet": None, "category": None, "conflict": False, "parts": (),
         "says": ("entailment",)},
    ]  # fmt: skip
    raw = raw_of(["contradiction", "neutral", "contradiction", "entailment"], told)
    return record, result(record, Score.of(0.9, raw=raw, units=units))


def raw_of(labels: list[str], told: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """What the scorer keeps of claims with these verdicts; of none, that the response abstains."""
    n = len(labels)
    shares = {
        x: labels.count(x) / n if n else 0.0 for x in ("entailment", "neutral", "contradiction")
    }
    return {
        "risk": 0.0,
        "label": "contradiction" if n else "abstain",
        **shares,
        "abstain": float(n == 0),
        "hallucination": shares["neutral"] + shares["contradiction"],
        "claims": told or [],
        "left_out": ["a claim without words"] if told else [],
    }


#: Of an answer by the labels of its claims: the last that is there.
VERDICTS = {
    **dict.fromkeys(("entailment", "supported"), "supported"),
    **dict.fromkeys(("neutral", "unsupported"), "unsupported"),
    "contradiction": "contradicted",
}


def result(record: Record, score: Score, name: str = "claims") -> Result:
    labels = {unit.label for unit in score.units}
    told: dict[str, Any] = {"verdict": "unchecked", "reason": "no_statement"}
    for label, verdict in VERDICTS.items():
        if label in labels:
            told = {"verdict": verdict, "reason": None}
    return Result(
        id=record.id or record.row,
        row=record.row,
        risk=score.risk,
        by=name,
        scores={name: score},
        **told,
    )


def judged(labels: list[str], *, row: int = 0, model: str | None = None) -> tuple[Record, Result]:
    """A response of short claims with these verdicts, by ``model``."""
    text = " ".join(f"Claim {i}." for i in range(len(labels)))
    record = Record(row=row, response=text or "No.", meta={"model": model} if model else {})
    units = [
        Unit.of(Span(9 * i, 9 * i + 8, text[9 * i : 9 * i + 8]), 0.5, level="claim", label=label)
        for i, label in enumerate(labels)
    ]
    return record, result(record, Score.of(0.5, raw=raw_of(labels), units=units))


def other_records() -> list[tuple[Record, Result]]:
    """All supported; unsupported; a refusal; and a verdict of two classes with a reason."""
    pairs = [
        judged(["entailment"] * 2, row=1, model="gpt-b"),
        judged(["neutral", "entailment"], row=2, model="gpt-a"),
        judged([], row=3, model="gpt-b"),
    ]
    record = Record(row=4, response="It is so.", meta={"model": "gpt-b"})
    span = Span(0, 9, "It is so.")
    unit = Unit.of(span, 0.8, raw=0.0, level="claim", label="unsupported")
    raw = {"claims": [{"text": "It is so.", "parts": [], "why": "Nothing says so."}]}
    return [*pairs, (record, result(record, Score.of(0.8, raw=raw, units=[unit])))]


def many_claims(count: int) -> tuple[Record, Result]:
    """A response of ``count`` claims of all verdicts in turn."""
    labels = ["entailment", "neutral", "contradiction"]
    return judged([labels[i % 3] for i in range(count)])


def hostile_claims() -> list[tuple[Record, Result]]:
    """One record per hostile string, with it wherever a claim has text, and bad shapes."""
    pairs = []
    for row, bad in enumerate(HOSTILE):
        text = f"{bad} 🙂 {bad}"
        record = Record(
            row=row, id=bad, response=text, contexts=[{"id": bad, "text": bad}], meta={"model": bad}
        )
        item = EvidenceItem.at(Source("context", 0, bad), 0, len(bad), 0.5)
        places = [(0, len(bad)), (0, len(text)), (900, 901), (3, 3), (len(bad) + 3, len(text))]
        units = [
            Unit.of(Span(a, b, bad), 0.5, level="claim", label=label, evidence=[item, item],
                    probabilities={bad: 0.5, "neutral": 0.25})
            for (a, b), label in zip(
                places, ["contradiction", "neutral", "entailment", "neutral", "entailment"],
                strict=True)
        ]  # fmt: skip
        fact = {"text": bad, "triplet": (bad, bad, bad), "category": f"contradiction/{bad}",
                "conflict": True, "parts": [(0, 10**9), (-1, 2), (1, "x"), 7, (0, 1)],
                "says": (bad, "entailment", bad, bad), "why": bad}  # fmt: skip
        odd = {"text": 5, "triplet": [bad], "category": 7, "conflict": "yes", "parts": bad,
               "says": bad, "why": [bad]}  # fmt: skip
        raw = {**raw_of(["neutral"] * 5), "claims": [fact, fact, fact, odd, bad], "left_out": [bad]}
        pairs.append((record, result(record, Score.of(0.5, raw=raw, units=units))))
    return pairs
