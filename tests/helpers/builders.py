"""Records, results and summaries for the report tests, from real and from hostile text."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from veridical.core.records import Record, Source, UnitLabel
from veridical.core.scores import EvidenceItem, Result, Score, Unit
from veridical.core.verdict_cuts import Verdict
from veridical.text.spans import Span

WORD = re.compile(r"\w+")
SCORERS = ("support", "ngram", "checkembed", "selfcheck_nli")

#: Of the assorted records, in order.
VERDICTS: tuple[Verdict, ...] = (
    *("supported", "consistent", "inconsistent"),
    *("contradicted", "unsupported", "unchecked"),
)

#: Strings that would run, load, break out or derail if they were ever taken for anything but text.
HOSTILE = (
    "</script><img src=x onerror=\"document.title='owned'\">",
    "<!--<script>document.title='owned'</script>",
    "--></style><svg onload=document.title='owned'>",
    "javascript:document.title='owned'",
    "\"' onfocus=document.title='owned' autofocus x='",
    "line\u2028separator\u2029here &lt;b&gt; &amp;",
    "{{ 7 * 7 }} {% raw %} ${7*7} ]]> \\u003c",
    "__proto__",
    "\u202egnp.txt \u0007 \ufeff \x7f",
    "https://example.invalid/x.png url(https://example.invalid/y)",
)


def wikibio(path: Path, limit: int | None = None) -> Iterator[tuple[Record, Result]]:
    """Real passages with their samples; risks by plain word overlap, so that they vary sensibly."""
    with path.open(encoding="utf-8") as lines:
        for row, line in enumerate(lines):
            if limit is not None and row >= limit:
                return
            yield pair(json.loads(line), row)


def pair(item: dict[str, Any], row: int, samples: int = 6) -> tuple[Record, Result]:
    """A record of one WikiBio item, and a result with sentence units and evidence."""
    text = item["gpt3_text"]
    spans = locate(text, item["gpt3_sentences"])
    grades = {"accurate": 0.0, "minor_inaccurate": 0.5, "major_inaccurate": 1.0}
    labels = [grades[a] for a in item["annotation"]][: len(spans)]
    record = Record(
        row=row,
        id=f"wikibio-{item['wiki_bio_test_idx']}",
        prompt=f"This is a passage from Wikipedia about {' '.join(text.split()[:3])}:",
        response=text,
        samples=item["gpt3_text_samples"][:samples],
        contexts=[{"id": "wikipedia", "text": item["wiki_bio_text"]}]
        if item["wiki_bio_text"]
        else [],
        label=sum(labels) / len(labels),
        unit_labels=[
            UnitLabel(start=s.start, end=s.end, label=v)
            for s, v in zip(spans, labels, strict=False)
        ],
        meta={"split": "all", "index": item["dataset_idx"], "model": {"name": "text-davinci-003"}},
    )
    return record, result(record, spans)


def locate(text: str, sentences: list[str]) -> list[Span]:
    """The sentences' places in the text, in order; one that is not there is left out."""
    out, at = [], 0
    for sentence in sentences:
        start = text.find(sentence.strip(), at)
        if start >= 0:
            at = start + len(sentence.strip())
            out.append(Span(start, at, text[start:at]))
    return out


def overlap(a: str, b: str) -> float:
    """Share of the words of ``a`` that ``b`` has."""
    words, other = set(WORD.findall(a.lower())), set(WORD.findall(b.lower()))
    return len(words & other) / len(words) if words else 0.0


def result(record: Record, spans: list[Span]) -> Result:
    """Scores of four kinds: two with units, one with a matrix, one that failed or had no say."""
    sources = [Source("sample", i, t) for i, t in enumerate(record.sample_texts)]
    sources += [Source("context", i, c.text) for i, c in enumerate(record.contexts)]
    units = []
    for span in spans:
        ranked = sorted(sources, key=lambda s, t=span.text: -overlap(t, s.text))
        best = [overlap(span.text, s.text) for s in ranked[:3]]
        risk = min(1.0, 1.6 * (1 - sum(best) / len(best))) if best else 1.0
        units.append(
            Unit.of(
                span,
                round(risk, 4),
                raw=round(1 - risk, 4),
                label="contradiction" if risk > 0.6 else "neutral" if risk > 0.3 else "entailment",
                probabilities={
                    "entailment": round(1 - risk, 3),
                    "neutral": round(risk * 0.3, 3),
                    "contradiction": round(risk * 0.7, 3),
                },
                evidence=[evidence(span.text, s) for s in ranked[:3]],
            )
        )
    risk = max((u.risk or 0 for u in units), default=1.0)
    mean = sum(u.risk or 0 for u in units) / max(1, len(units))
    words = [
        Unit.of(Span(m.start(), m.end(), m.group()), 0.05 + 0.9 * (len(m.group()) % 7) / 7,
                level="token")
        for m in WORD.finditer(record.response)
    ]  # fmt: skip
    scores = {
        "support": Score.of(round(risk, 4), raw=round(1 - risk, 4), units=units),
        "ngram": Score.of(round(mean, 4), raw={"avg": 3.1 + mean, "max": 7.9}, units=words),
        "checkembed": Score.of(round(mean * 0.8, 4), raw=matrix(record)),
        "selfcheck_nli": Score.failed("TimeoutError: no answer within 30 s")
        if record.row % 9 == 4
        else Score.not_applicable("the record has no contexts")
        if not record.contexts
        else Score.of(round(mean, 4)),
    }
    signed = {
        n: s.model_copy(update={"signature": f"{n}|v1|against:samples"}) for n, s in scores.items()
    }
    return Result(
        id=record.id if record.id is not None else record.row,
        row=record.row,
        risk=round(mean, 4),
        by="support",
        verdict="contradicted" if risk > 0.6 else "unsupported" if risk > 0.3 else "supported",
        reason=None,
        decision=("accept", "review", "reject")[min(2, int(mean * 3))],
        scores=signed,
    )


def evidence(text: str, source: Source) -> EvidenceItem:
    """The sentence of the source that shares most words with ``text``."""
    parts = list(re.finditer(r"[^.!?]+[.!?]?", source.text)) or [re.match("", source.text)]
    best = max(parts, key=lambda m: overlap(text, m.group()))
    share = round(overlap(text, best.group()), 3)
    return EvidenceItem.at(source, best.start(), best.end(), share)


def matrix(record: Record) -> dict[str, Any]:
    """A cosine matrix of bags of words, as ``checkembed`` keeps it."""
    texts = [record.response, *record.sample_texts]
    bags = [Counter(WORD.findall(t.lower())) for t in texts]
    norms = [sum(v * v for v in b.values()) ** 0.5 or 1.0 for b in bags]
    cosine = [
        [sum(a[w] * b[w] for w in a) / (x * y) for b, y in zip(bags, norms, strict=True)]
        for a, x in zip(bags, norms, strict=True)
    ]
    off = [v for i, row in enumerate(cosine) for j, v in enumerate(row) if i != j] or [1.0]
    mean = sum(off) / len(off)
    std = (sum((v - mean) ** 2 for v in off) / len(off)) ** 0.5
    return {
        "value": mean,
        "cosine": {"mean": mean, "std": std, "frobenius": 0.91},
        "rule": False,
        "matrix": cosine,
        "order": ["response", *(f"sample {i}" for i in range(len(texts) - 1))],
        "outlier": [1 - sum(row) / len(row) for row in cosine],
    }


def summary(pairs: list[tuple[Record, Result]], **changes: Any) -> dict[str, Any]:
    """The summary of these pairs; ``changes`` replace top-level entries."""
    risks = [r.risk for _, r in pairs if r.risk is not None]
    histogram = [0] * 20
    for risk in risks:
        histogram[min(19, int(risk * 20))] += 1
    by: dict[str, list[Score]] = {}
    for _, made in pairs:
        for name, score in made.scores.items():
            by.setdefault(name, []).append(score)
    verdicts = Counter(made.verdict for _, made in pairs)
    out = {
        "outcome": f"{verdicts['contradicted']} of {len(pairs)} answers contain a statement that "
        "the sources contradict.",
        "verdicts": dict(verdicts),
        "unchecked": dict(Counter(made.reason for _, made in pairs if made.reason)),
        "records": len(pairs),
        "row_errors": 0,
        "risk": {
            "n": len(risks),
            "mean": sum(risks) / len(risks) if risks else None,
            "histogram": histogram,
        },
        "by": "support",
        "min_coverage": 0.98,
        "scorers": [scorer_summary(name, scores) for name, scores in by.items()],
        "signature": {"veridical": "0.1.0", "model": "all-MiniLM-L6-v2@3f1c", "preset": "auto"},
        "inputs": [{"path": "answers.jsonl", "bytes": 4910885, "rows": len(pairs)}],
        "created": "2026-11-21T07:00:00+00:00",
        "version": "0.1.0",
        "errors": [],
    }
    return {**out, **changes}


def scorer_summary(name: str, scores: list[Score]) -> dict[str, Any]:
    """Counts, coverage and mean of one scorer."""
    by = Counter(s.status for s in scores)
    risks = [s.risk for s in scores if s.risk is not None]
    due = len(scores) - by["not_applicable"]
    mean = sum(risks) / len(risks) if risks else None
    return {
        "name": name,
        "level": "sentence",
        "source": "Manakul 2023, eq. 10",
        "n_total": len(scores),
        "n_scored": by["scored"],
        "n_failed": by["failed"],
        "n_not_applicable": by["not_applicable"],
        "failed_reasons": Counter(s.reason for s in scores if s.status == "failed"),
        "not_applicable_reasons": Counter(s.reason for s in scores if s.status == "not_applicable"),
        "coverage": by["scored"] / due if due else None,
        "mean": mean,
        "ci_low": None if mean is None else max(0.0, mean - 0.02),
        "ci_high": None if mean is None else min(1.0, mean + 0.02),
        "best": None if mean is None else sum(risks) / due,
        "worst": None if mean is None else (sum(risks) + by["failed"]) / due,
    }


def hostile() -> tuple[list[tuple[Record, Result]], dict[str, Any]]:
    """One record per hostile string, with it in every field, and a summary with it everywhere."""
    pairs = []
    for row, bad in enumerate(HOSTILE):
        record = Record(
            row=row,
            id=bad,
            prompt=[{"role": bad, "content": [{"type": bad, "text": bad}, {"type": bad}]}],
            response=f"{bad} 🙂 {bad}",
            samples=[bad, {"image": bad}, f"🙂{bad}"],
            contexts=[{"id": bad, "text": bad}],
            reference=[bad],
            label=1.0,
            meta={bad: bad, "deep": {bad: [bad, float("nan"), 2**70]}, "__proto__": {"x": bad}},
        )
        span = Span(0, len(bad), bad)
        items = [
            EvidenceItem.at(Source("sample", 0, bad), 0, len(bad), 0.5),
            EvidenceItem.at(Source("context", 0, bad), 0, len(bad), 0.5),
            EvidenceItem(kind="token", index=3, start=0, end=1, text=bad, probability=0.1),
            EvidenceItem(kind="reference", index=99, start=5, end=900, text=bad),
        ]
        unit = Unit.of(span, 0.9, label=bad, probabilities={bad: 0.5}, evidence=items)
        square = {
            "cosine": [[1, 0.5], [0.5, 1]],
            "order": [bad, bad],
            bad: bad,
            "nan": float("nan"),
        }
        scores = {
            bad: Score(risk=0.9, raw=square, units=(unit,), signature=bad),
            f"failed {bad}": Score.failed(bad),
            f"none {bad}": Score.not_applicable(bad),
        }
        told: dict[str, Any] = {"verdict": "contradicted", "reason": None, "scores": scores}
        pairs.append((record, Result(id=bad, row=row, risk=0.9, by=bad, **told)))
    everything = [Score.failed(bad) for bad in HOSTILE]
    scorers = [{**scorer_summary(bad, everything), "level": bad, "source": bad} for bad in HOSTILE]
    head = {
        **summary(pairs),
        "outcome": f"{HOSTILE[0]}; {HOSTILE[1]}",
        "meaning": list(HOSTILE),
        "remarks": list(HOSTILE),
        "unused_columns": [(bad, bad, bad) for bad in HOSTILE],
        "row_errors": 2,
        "by": HOSTILE[0],
        "scorers": scorers,
        "signature": {bad: bad for bad in HOSTILE},
        "inputs": [{"path": bad, "bytes": 1, "rows": 1} for bad in HOSTILE],
        "errors": [
            {"row": i, "file": bad, "line": None, "field": bad, "error": bad}
            for i, bad in enumerate(HOSTILE)
        ],
        "version": HOSTILE[1],
        "created": HOSTILE[0],
    }
    return pairs, head


def assorted() -> list[tuple[Record, Result]]:
    """Six small records: emoji, right-to-left, CJK, nested units, bad offsets, nothing at all."""
    emoji = "👩‍🚀 Ada flew in 1961. 🚀 She landed on Mars 🪐 in 1962."
    texts = [
        emoji,
        "وُلد ابن سينا عام ٩٨٠ في أفشنة. توفي في همذان.",
        "東京は日本の首都です。人口は九千万人です。",
        "The cat sat on the mat and then it flew to the moon.",
        "Bad offsets live here.",
        "",
    ]
    pairs = []
    for row, text in enumerate(texts):
        record = Record(
            row=row,
            id=f"case-{10 - row}",
            prompt=f"Question {row}?",
            response=text,
            samples=[f"🧪 {text} Indeed 🎈.", "Something else entirely."],
            contexts=["A long context. 🌍 It says the moon is far away. The end."],
            reference=["The answer."],
        )
        scores = {"support": Score.not_applicable("the response is empty")}
        if text:
            scores = {"support": Score.of((row + 1) / 10, units=units_of(record))}
        if row == 4:
            scores["ngram"] = Score.failed("ValueError: nothing to count")
        risk = scores["support"].risk
        made = Result(
            id=record.id or row,
            row=row,
            risk=risk,
            by="support",
            verdict=VERDICTS[row],
            reason=None if text else "no_statement",
            decision="reject" if row == 3 else "accept",
            scores=scores,
        )
        pairs.append((record, made))
    return pairs


def units_of(record: Record) -> list[Unit]:
    """Two units with evidence beyond an emoji; for row 3 nested ones, for row 4 unusable ones."""
    text, sample = record.response, record.samples[0].text or ""
    at = sample.index("Indeed")
    source = Source("sample", 0, sample)
    context = Source("context", 0, record.contexts[0].text)
    far = context.text.index("It says")
    items = [
        EvidenceItem.at(source, at, at + 8, 0.75),
        EvidenceItem.at(context, far, far + 32, 0.25),
    ]

    def unit(start: int, end: int, risk: float | None, **more: Any) -> Unit:
        return Unit.of(Span(start, end, text[start:end]), risk, **more)

    if record.row == 3:  # a sentence, a clause within it, a span across the clause's end
        return [
            unit(0, len(text), 0.2, evidence=items),
            unit(24, 51, 0.9, level="claim", label="contradiction"),
            unit(44, 52, 0.5, level="span"),
        ]
    if record.row == 4:
        return [
            unit(0, 11, 0.4),
            unit(500, 900, 0.8, evidence=items),
            unit(7, 7, None),
            unit(9, 4, 0.1),
        ]
    half = text.index(".") + 2 if "." in text else text.index("。") + 1
    return [
        unit(0, half - 1, 0.1),
        unit(half, len(text), 0.8, raw=0.2, label="contradiction", evidence=items),
    ]


def many(count: int, size: int = 0) -> Iterator[tuple[Record, Result]]:
    """``count`` small records made one at a time, each ``size`` characters longer."""
    for row in range(count):
        risk = (row * 7919) % 10_007 / 10_007
        text = f"Answer number {row} names {row % 97} cities. " + "x" * size
        record = Record(
            row=row, id=f"r{row}", prompt=f"Question {row}?", response=text, samples=[text] * 2
        )
        span = Span(0, 20, text[:20])
        scores = {
            "support": Score.of(risk, units=[Unit.of(span, risk)]),
            "ngram": Score.failed("no words") if row % 100 == 0 else Score.of(1 - risk),
        }
        told: dict[str, Any] = {"verdict": "contradicted" if risk > 0.5 else "supported"}
        told |= {"reason": None, "scores": scores}
        yield record, Result(id=f"r{row}", row=row, risk=risk, by="support", **told)
