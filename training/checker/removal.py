"""Negatives: documents without a claim's evidence, each with a matching positive."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from checker.examples import Example, Part, content, digest, edge_keys, part_of
from checker.public import asked, lines, restored
from checker.rewording import supported_part
from veridical.text.sentences import split_sentences

#: P(entailment) of (premise, hypothesis) pairs.
Entailment = Callable[[Sequence[tuple[str, str]]], Sequence[float]]

GONE = 0.3
"""Below this P(entailment) a claim counts as not stated any more."""
THERE = 0.6
"""From this P(entailment) on a claim counts as stated."""
MOST_DROPPED = 3
LONGEST_WORDS = 280  # of a document that the model is to read in one window


def sentences(text: str) -> list[str]:
    return [text[s.start : s.end].strip() for s in split_sentences(text)]


def share(claim: str, sentence: str) -> float:
    """Return the share of a claim's content words that a sentence has."""
    own = content(claim)
    return len(own & content(sentence)) / max(1, len(own))


# --- claims with marked evidence ------------------------------------------------------------


def window(texts: Sequence[str], needed: set[int], words: int, rng: random.Random) -> list[int]:
    """Return places of the needed sentences and of others around, of at most ``words`` words."""
    kept = set(needed)
    size = sum(len(texts[i].split()) for i in kept)
    ahead = {i + step for i in needed for step in (-2, -1, 1, 2)}
    order = [*sorted(ahead, key=lambda _: rng.random())]
    centre = rng.choice(sorted(needed))
    order += sorted(range(len(texts)), key=lambda i: abs(i - centre))
    for i in order:
        if 0 <= i < len(texts) and i not in kept:
            size += len(texts[i].split())
            if size > words:
                break
            kept.add(i)
    return sorted(kept)


def marked(data: Path, rng: random.Random, seed: int, held_out: float) -> Iterator[Example]:
    """Yield `removed_marked`, `detail`: WiCE's partly supported claims, cut to that part.

    The document without the sentences that support it does not state it; without another
    sentence it still does. `detail` has the part and the whole claim, with the same document.
    """
    for row in lines(data / "grounded" / "wice_tokens_train.jsonl"):
        claim = supported_part(row["tokens"], row["non_supported"])
        texts = [re.sub(r"^\(meta data\) ", "", t) for t in row["evidence_sentences"]]
        carriers = {i for group in row["supporting"] for i in group if i < len(texts)}
        if claim is None or not carriers or len(carriers) > 8:
            continue
        # a sentence with most of the claim's words may carry it too
        carriers |= {i for i, t in enumerate(texts) if share(claim, t) >= 0.65}
        if sum(len(texts[i].split()) for i in carriers) > 700:
            continue
        kept = window(texts, carriers, int(rng.choice([90, 150, 250, 450, 700, 1000])), rng)
        idle = [i for i in kept if i not in carriers and share(claim, texts[i]) < 0.3]
        if len(idle) < len(carriers) or len(kept) - len(carriers) < 2:
            continue
        group = edge_keys(" ".join(texts))[0]
        out = set(rng.sample(idle, len(carriers)))
        whole = " ".join(texts[i] for i in kept)
        without = " ".join(texts[i] for i in kept if i not in carriers)
        positive = " ".join(texts[i] for i in kept if i not in out)
        part = part_of(group, seed, held_out)
        for document, said, label, kind in (
            (without, claim, "not_stated", "removed_marked"),
            (positive, claim, "supported", "removed_marked"),
            (whole, claim, "supported", "detail"),
            (whole, row["response"].strip(), "not_stated", "detail"),
        ):
            yield Example(
                document, said, label, kind, "wice_tokens_train",  # type: ignore[arg-type]
                digest(group), part, paired=kind != "detail",
            )  # fmt: skip


# --- claims without ---------------------------------------------------------------------------


class Candidate(NamedTuple):
    """A claim, the sentences of its document, and what the model is asked of them."""

    statement: str
    claim: str  # the statement as the model is asked
    texts: list[str]
    order: list[int]  # sentences by share of the claim's words, largest first
    source: str
    group: str
    part: Part

    def without(self, dropped: Sequence[int]) -> str:
        return " ".join(t for i, t in enumerate(self.texts) if i not in dropped)


def candidate(row: Example) -> Candidate | None:
    """Return a supported claim whose document has sentences to spare."""
    words = len(row.document.split())
    texts = sentences(row.document)
    if not 3 <= len(texts) <= 16 or words > LONGEST_WORDS:
        return None
    if not 4 <= len(row.statement.split()) <= 40:
        return None
    claim = row.statement.removeprefix("Question: ").replace("\nAnswer: ", " ")
    order = sorted(range(len(texts)), key=lambda i: -share(claim, texts[i]))
    return Candidate(row.statement, claim, texts, order, row.source, row.group, row.part)


def evidence(found: Sequence[Candidate], entailment: Entailment, most: int) -> Iterator[Example]:
    """Yield `removed_evidence`: sentences most about a claim are dropped until it is not entailed.

    The matching positive lacks as many other sentences and still entails it.
    """
    full = entailment([(c.without([]), c.claim) for c in found])
    left = [c for c, p in zip(found, full, strict=True) if p >= THERE][:most]
    negatives: dict[int, int] = {}  # place in ``left``: sentences dropped
    for size in range(1, MOST_DROPPED + 1):
        open_ = [i for i, c in enumerate(left) if i not in negatives and len(c.texts) > size + 1]
        pairs = [(left[i].without(left[i].order[:size]), left[i].claim) for i in open_]
        for i, p in zip(open_, entailment(pairs), strict=True):
            if p < GONE:
                negatives[i] = size
    asked, drops = [], []
    for i, size in negatives.items():
        idle = left[i].order[size:][::-1]  # least about the claim first
        drops.append(idle[: min(size, len(idle) - 1)] if len(idle) > 1 else idle[:0])
        asked.append((left[i].without(drops[-1]), left[i].claim))
    for (i, size), p, (positive, _), dropped in zip(
        negatives.items(), entailment(asked), asked, drops, strict=True
    ):
        one = left[i]
        if p < THERE or not dropped:
            positive = one.without([])
        for document, label in (
            (one.without(one.order[:size]), "not_stated"),
            (positive, "supported"),
        ):
            yield Example(
                document, one.statement, label, "removed_evidence",  # type: ignore[arg-type]
                one.source, one.group, one.part, paired=True,
            )  # fmt: skip


class Cached:
    """P(entailment) by a model, kept in a file between runs."""

    def __init__(self, file: Path, spec: str = "mini") -> None:
        self.file, self.spec = file, spec
        self.known: dict[str, float] = {}
        if file.is_file():
            self.known = json.loads(file.read_text("utf-8"))

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        from nli_quality import judge

        from veridical.core.protocols import Pair
        from veridical.models import load_nli

        keys = [digest(f"{p}\x1f{h}") for p, h in pairs]
        open_ = [i for i, key in enumerate(keys) if key not in self.known]
        if open_:
            model = load_nli(self.spec)
            for start in range(0, len(open_), 256):
                part = open_[start : start + 256]
                for i, row in zip(part, judge(model, [Pair(*pairs[i]) for i in part]), strict=True):
                    self.known[keys[i]] = round(float(row[0]), 4)
                self.file.write_text(json.dumps(self.known), encoding="utf-8")
        return [self.known[key] for key in keys]


# --- answers to questions of two passages ---------------------------------------------------


def answered(data: Path, rng: random.Random, seed: int, held_out: float) -> list[Example]:
    """Return HaluEval's right answers as statements, rows 0..7999, in random order."""
    from veridical.text.statements import to_judge

    found = []
    for number, row in enumerate(lines(data / "halueval" / "dataset_halueval_qa.jsonl")):
        if number >= 8000:
            break
        document = re.sub(r"(?<=[a-z0-9)\"'])([.?!]\"?)(?=[A-Z\"])", r"\1 ", row["knowledge"])
        document = " ".join(restored(document).split())
        question, answer = " ".join(row["question"].split()), row["right_answer"].strip()
        said = to_judge(question, answer.rstrip(".")).text
        if "?" in said:  # not made one statement
            said = asked(question, answer)
        group = digest(document)
        found.append(
            Example(
                document, said, "supported", "answer", "halueval_qa", group,
                part_of(group, seed, held_out),
            )
        )  # fmt: skip
    rng.shuffle(found)
    return sorted(found, key=lambda r: "\n" in r.statement and rng.random() < 0.7)


# --- two documents ----------------------------------------------------------------------------

_LOWERED = {"The", "A", "An", "It", "He", "She", "They", "In", "On", "This", "That", "There"}


def both(one: str, other: str) -> str:
    """Return two sentences as one."""
    first, _, rest = other.partition(" ")
    tail = f"{first.lower() if first in _LOWERED else first} {rest}"
    return f"{one.rstrip('. ')}, and {tail}"


def joined(rows: Sequence[Example], rng: random.Random, most: int) -> Iterator[Example]:
    """Yield `two_documents`: two claims in one sentence, with both documents and with only one."""
    good = [
        r
        for r in rows
        if r.right
        and len(r.document.split()) < 260
        and 4 <= len(r.statement.split()) <= 22
        and r.statement.endswith(".")
        and "\n" not in r.statement
    ]
    rng.shuffle(good)
    good.sort(key=lambda r: r.part)
    found = []
    for one, other, third in zip(good[::3], good[1::3], good[2::3], strict=False):
        different = len({one.group, other.group, third.group}) == 3
        about = content(one.statement) & content(other.statement + third.document)
        about |= content(other.statement) & content(third.document)
        if not different or len({one.part, other.part, third.part}) > 1 or len(about) > 3:
            continue
        statement = both(one.statement, other.statement)
        group = digest(one.group + other.group)
        left = rng.choice([one, other])
        pair = []
        for documents, label in (
            ([one.document, other.document], "supported"),
            ([left.document, third.document], "not_stated"),
        ):
            rng.shuffle(documents)
            pair.append(
                Example(
                    "\n\n".join(documents), statement, label, "two_documents",  # type: ignore[arg-type]
                    f"{one.source}+{other.source}", group, one.part, paired=True,
                )
            )  # fmt: skip
        found.append(pair)
    for pair in rng.sample(found, min(len(found), most // 2)):
        yield from pair
