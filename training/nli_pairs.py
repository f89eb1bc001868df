"""Natural-language-inference pairs made by rule from HaluEval QA passages (rows 0..7999 only).

    python training/nli_pairs.py HALUEVAL_QA.jsonl OUT.jsonl [--seed 0]

Each output row is `{"premise", "hypothesis", "label", "source"}`. Sources:

* `fact_keep` / `fact_swap`: a sentence (or a shorter one it entails) and the same with one fact
  altered. Every pair is put in one of two worlds by a fair coin. In one the premise is the passage,
  in the other the passage with the altered fact. So both the true and the altered wording are
  entailed as often as contradicted, and the hypothesis alone has no information. An altered
  subject, list member or title may be merely unstated: such rows are `not_entailment`.
* `same_subject`: neutral statements on the premise's subject: a sentence taken out of the premise,
  or one with an added detail. The matching entailed rows (nothing taken out) are `fact_keep`.
* `joins`: two statements joined by "and" or "while", both stated, one altered, one from elsewhere.
* `qa`: question and answer. Wrong answers of the right answer's entity type are `contradiction`.
  HaluEval's hallucinated answers are `contradiction` if they hold a number, or a capitalised name
  in the passage, that the right answer lacks. The right answer must have that kind too; else they
  are `not_entailment`. They and the right answers are used equally often for every answer length.
* `unrelated`: a sentence of another passage, neutral.
* `typed_RULE`: a sentence and the same with a typed edit (`veridical.text.typed_edits`), in one of
  two worlds; and the same in other words. Where the hypothesis is not entailed, `spans` has its
  wrong characters, [[start, end], ...].
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nli_facts import (
    ENTITIES,
    Edit,
    Pools,
    Sentence,
    compressions,
    find_edits,
    harvest,
    vary,
)
from nli_parse import load_rows, parse_passages, restore_spaces

from veridical.text.edit_words import Label, fix_article
from veridical.text.typed_edits import Edited, Name, edits

if TYPE_CHECKING:
    from spacy.tokens import Doc

MAX_PREMISE_WORDS = 260
_TEXTS = ("premise", "hypothesis")
_VERBS = {"AUX", "VERB"}
QUOTAS = {"entailment": 15500, "contradiction": 13500, "neutral": 14000, "not_entailment": 2500}
"""Maximum number of pairs of each label, drawn at random."""
MOST_TYPED = 24_000
"""Maximum number of typed pairs, in addition."""
_PRONOUN = re.compile(r"^(He|She|It|They|His|Her|Its|Their) ")


class PairMaker:
    """Makes the pairs of one corpus; every random choice comes from one seeded generator."""

    def __init__(self, rows: list[dict[str, str]], docs: list[Doc], seed: int) -> None:
        self.rng = random.Random(seed)
        self.rows, self.docs = rows, docs
        self.pools: Pools = harvest(docs)
        self.pairs: list[dict[str, Any]] = []
        self.seen: set[tuple[str, str]] = set()
        self.sentences: list[list[Sentence]] = []
        for number, doc in enumerate(docs):
            found = []
            for span in doc.sents:
                text = span.text.strip()
                subject, forms = compressions(span)
                found.append(Sentence(number, len(found), text, span, subject, forms))
            self.sentences.append(found)
        self.usable = [s for group in self.sentences for s in group if self._good(s)]

    @staticmethod
    def _good(s: Sentence) -> bool:
        """Return True if the sentence is whole: a capital, a verb, a full stop, 6 to 60 words."""
        whole = re.match(r"[A-Z\"].*[a-z0-9)\"]\.\"?$", s.text) and s.text.count('"') % 2 == 0
        return (
            bool(whole) and 6 <= len(s.text.split()) <= 60 and s.span.root.pos_ in {"AUX", "VERB"}
        )

    def add(
        self,
        premise: str,
        hypothesis: str,
        label: str,
        source: str,
        spans: tuple[tuple[int, int], ...] | None = None,
    ) -> bool:
        """Keep the pair unless it is a duplicate, too short or too long."""
        premise = " ".join(premise.split())
        if self.rng.random() < 0.5:
            premise = re.sub(r"(?<=[a-z0-9)]\.) (?=[A-Z])", "", premise, count=1)
        key = (premise, hypothesis)
        short = source != "qa" and len(hypothesis.split()) < 4
        if short or key in self.seen or len(premise.split()) > MAX_PREMISE_WORDS:
            return False
        self.seen.add(key)
        row = {"premise": premise, "hypothesis": hypothesis, "label": label, "source": source}
        self.pairs.append(row if spans is None else row | {"spans": spans})
        return True

    def premise(
        self, s: Sentence, texts: list[str], form: str | None = None, exact: bool = False
    ) -> str:
        """Make a premise: the sentence, with a neighbour, its passage, or that with distractors."""
        rng = self.rng
        form = form or rng.choices(["alone", "near", "passage", "long"], [35, 25, 25, 15])[0]
        if form == "alone" and exact and rng.random() < 0.6:
            form = "near"
        if form == "alone":
            return texts[s.index]
        if form == "near":
            start = rng.choice([max(0, s.index - 1), s.index])
            return " ".join(texts[start : start + 2])
        if form == "passage":
            return " ".join(texts)
        parts, target = [" ".join(texts)], rng.randint(80, 190)
        while sum(len(p.split()) for p in parts) < target:
            other = rng.choice(self.usable)
            if other.doc != s.doc:
                parts.append(other.text)
        rng.shuffle(parts)
        return " ".join(parts)

    def texts(self, s: Sentence) -> list[str]:
        """Return the sentences of the passage of `s`."""
        return [t.text for t in self.sentences[s.doc]]

    def statement(self, s: Sentence) -> str:
        """Return the sentence or, more often than not, one of its compressions."""
        return self.rng.choice(s.forms) if s.forms and self.rng.random() < 0.75 else s.text

    def short_name(self, text: str, s: Sentence) -> str:
        """Replace a person's full name at the start by the surname, sometimes."""
        words = s.subject.split()
        known = any(e.label_ == "PERSON" and e.text == s.subject for e in s.span.ents)
        if (
            known
            and len(words) in {2, 3}
            and text.startswith(s.subject + " ")
            and self.rng.random() < 0.35
            and not re.search(r"[\W]|Jr", words[-1])
        ):
            return words[-1] + text[len(s.subject) :]
        return text

    def facts(self, s: Sentence) -> None:
        """Add `fact_keep` and `fact_swap` from one sentence: a true and an altered wording."""
        rng, doc = self.rng, self.docs[s.doc]
        statement = self.statement(s)
        groups: dict[str, list[Edit]] = defaultdict(list)
        for edit in find_edits(s, doc, self.pools, rng):
            if edit.apply(statement) != statement:
                groups[edit.kind].append(edit)
        if not groups:
            return
        kinds = sorted(groups)
        weights = [{"negation": 0.35, "entity_WORK_OF_ART": 0.6}.get(k, 1.0) for k in kinds]
        edit = rng.choice(groups[rng.choices(kinds, weights)[0]])
        texts = self.texts(s)
        wide = edit.kind.startswith(("entity", "nationality", "role"))
        worlds = [
            texts,
            [edit.apply(t) if wide or i == s.index else t for i, t in enumerate(texts)],
        ]
        true, altered = statement, edit.apply(statement)
        if "PERSON" not in edit.kind and "role_swap" not in edit.kind:
            state = rng.getstate()
            true = self.short_name(true, s)
            rng.setstate(state)
            altered = self.short_name(altered, s)
        if rng.random() < 0.45:
            state = rng.getstate()
            true = vary(true, rng)
            rng.setstate(state)
            altered = vary(altered, rng)
        if rng.random() < 0.3:  # the premise is another telling: further facts altered as well
            for i, other in enumerate(self.sentences[s.doc]):
                if i != s.index:
                    for change in find_edits(other, doc, self.pools, rng)[:3]:
                        if change.kind.startswith(("year", "date", "num", "nat", "role", "ant")):
                            for world in worlds:
                                world[i] = change.apply(world[i])
        bad = "contradiction" if edit.contradicts else "not_entailment"
        first = rng.random() < 0.5
        for world, h in ((0, true), (0, altered)) if first else ((1, altered), (1, true)):
            keep = (world == 0) == (h == true)
            if not keep and edit.kind == "negation" and rng.random() < 0.2:
                continue
            label, source = ("entailment", "fact_keep") if keep else (bad, "fact_swap")
            if keep and rng.random() < 0.3:
                continue
            self.add(self.premise(s, worlds[world], None, statement == s.text), h, label, source)

    def typed(self, s: Sentence) -> None:
        """Typed edits of one sentence, of two kinds at most, and the same in other words."""
        rng, texts = self.rng, self.texts(s)
        names = [
            Name(re.sub(r"^the |'s$", "", e.text).strip('" ,.'), e.label_)
            for e in self.docs[s.doc].ents
            if e.label_ in ENTITIES and e.text[0].isupper()
        ]
        others = [t.text for t in self.sentences[s.doc] if t.index != s.index and self._good(t)]
        foreign = [t.text for t in rng.sample(self.usable, 3) if t.doc != s.doc]
        found = edits(s.text, rng, names, others[:1], foreign[:1])
        wrong: dict[str, list[Edited]] = defaultdict(list)
        for edit in found:
            if not edit.keeps:
                wrong[edit.rule].append(edit)
        if rng.random() < 0.7:  # it can be had of any sentence
            wrong.pop("splice", None)
        for kind in rng.sample(sorted(wrong), min(2, len(wrong))):
            edit = rng.choice(wrong[kind])
            turned = edit.label is None or (edit.back is not None and rng.random() < 0.5)
            label = edit.back if turned else edit.label
            world = [edit.text if turned and i == s.index else t for i, t in enumerate(texts)]
            hypothesis, spans = (s.text, edit.was) if turned else (edit.text, edit.spans)
            self._typed(s, world, hypothesis, kind, label, spans)
            if rng.random() < 0.7:  # The opposite row: the other wording is true in this world.
                true = edits(edit.text, rng, names) if turned else found
                same = [e.text for e in true if e.keeps and e.rule != "splice"]
                if kind == "splice" and not turned:
                    same = [e.text for e in found if e.keeps and e.rule == "splice"] or same
                if same or turned:
                    text = rng.choice(same or [edit.text])
                    self._typed(s, world, text, kind, "entailment", ())

    def _typed(
        self,
        s: Sentence,
        world: list[str],
        hypothesis: str,
        kind: str,
        label: Label | None,
        spans: tuple[tuple[int, int], ...],
    ) -> None:
        if label is not None:
            marked = () if label == "entailment" else spans
            whole = "passage" if kind == "splice" else None  # what is joined may stand anywhere
            premise = self.premise(s, world, whole, hypothesis == world[s.index])
            self.add(premise, hypothesis, label, f"typed_{kind}", marked)

    def same_subject(self, s: Sentence) -> None:
        """Add neutral pairs: a sentence, a part or an added detail that the premise leaves out."""
        rng, texts = self.rng, self.texts(s)
        group = self.sentences[s.doc]
        following = group[s.index + 1] if s.index + 1 < len(group) else None
        if following and self._good(following) and _PRONOUN.match(following.text) and s.subject:
            rest = [t for i, t in enumerate(texts) if i != following.index]
            h = self.statement(following)
            match = _PRONOUN.match(h)
            if match and rng.random() < 0.5:
                owner = match[1] in {"His", "Her", "Its", "Their"}
                h = s.subject + ("'s " if owner else " ") + h[match.end() :]
            if self.add(self.premise(s, rest), h, "neutral", "same_subject") and rng.random() < 0.4:
                self.add(self.premise(s, texts, "passage"), h, "entailment", "fact_keep")
        if len(s.forms) > 1:
            kept, h = rng.sample(s.forms, 2)
            words = set(re.findall(r"\w{4,}", h.lower()))
            missing = words - set(
                re.findall(r"\w{4,}", " ".join(texts).replace(s.text, kept).lower())
            )
            if len(missing) >= 2 or re.search(r"\d{4}", " ".join(missing)):
                changed = [kept if i == s.index else t for i, t in enumerate(texts)]
                if (
                    self.add(self.premise(s, changed), h, "neutral", "same_subject")
                    and rng.random() < 0.4
                ):
                    self.add(self.premise(s, texts), h, "entailment", "fact_keep")
        verb = s.span.root
        if rng.random() < 0.6 and verb.tag_ in {"VBD", "VBN"}:
            base = self.statement(s)
            more = rng.choice(self.pools.adjuncts)
            longer = base.rstrip('."') + rng.choice([" ", ", "]) + more + "."
            if not set(re.findall(r"[A-Z]\w+|\d+", more)) & set(
                re.findall(r"\w+", s.text)
            ) and base.count('"') == longer.count('"'):
                full = [longer if i == s.index else t for i, t in enumerate(texts)]
                self.add(self.premise(s, texts), longer, "neutral", "same_subject")
                if rng.random() < 0.5:
                    self.add(self.premise(s, full), longer, "entailment", "fact_keep")

    def join(self, s: Sentence) -> None:
        """Add two statements of one passage in one sentence."""
        rng = self.rng
        others = [t for t in self.sentences[s.doc] if t.index != s.index and self._good(t)]
        if not others:
            return
        first, second = s, rng.choice(others)
        parts = [self.statement(first), self.statement(second)]
        label = rng.choice(["entailment", "contradiction", "neutral"])
        texts = self.texts(s)
        at = rng.randrange(2)
        if label == "contradiction":
            source = (first, second)[at]
            edits = [
                e
                for e in find_edits(source, self.docs[s.doc], self.pools, rng)
                if e.contradicts and e.apply(parts[at]) != parts[at]
            ]
            if not edits:
                return
            plain = [e for e in edits if e.kind != "negation"]
            edit = rng.choice(plain if plain and rng.random() < 0.8 else edits)
            if rng.random() < 0.5:
                texts[source.index] = edit.apply(texts[source.index])
            else:
                parts[at] = edit.apply(parts[at])
        elif label == "neutral":
            if rng.random() < 0.5:
                parts[at] = self.statement(rng.choice(self.usable))
            else:
                texts[(first, second)[at].index] = rng.choice(self.usable).text
        if sum(len(p.split()) for p in parts) > 55:
            return
        tail = re.sub(
            r"^(He|She|It|They|His|Her|Its|Their|The|A|An|In)\b(?! [A-Z])",
            lambda m: m[0].lower(),
            parts[1],
        )
        joined = parts[0].rstrip(".") + rng.choice([" and ", ", and ", ", while "]) + tail
        self.add(
            self.premise(s, texts, rng.choice(["passage", "passage", "long"])),
            joined,
            label,
            "joins",
        )

    def answered(self, question: str, answer: str, form: float) -> str:
        """Return question and answer as a hypothesis, in the form the number `form` picks."""
        question = " ".join(question.split())
        answer = answer.strip().rstrip(".")
        who = re.fullmatch(r"Who ((?:is|was|[a-z]+ed|wrote|won|played|sang) .+)\?", question)
        if form < 0.3 and who and not re.search(r"\bwho\b|, ", who[1]):
            return f"{answer} {who[1]}."
        if form < 0.15:
            return f'The answer to "{question}" is {answer}.'
        if form < 0.3 and answer.lower() not in {"yes", "no"}:
            return (
                f"{question} It is {answer}." if len(answer.split()) < 6 else f"{question} {answer}"
            )
        return f"{question} {answer}" + ("." if form < 0.4 else "")

    def qa(self, index: dict[str, int]) -> None:
        """Add right and wrong answers, of the same type or of the same length."""
        rng = self.rng
        by_words: dict[int, list[list[tuple[str, str, str]]]] = defaultdict(lambda: [[], []])
        for row in self.rows:
            doc = self.docs[index[restore_spaces(row["knowledge"])]]
            question, right, wrong = (
                row[k].strip() for k in ("question", "right_answer", "hallucinated_answer")
            )
            form, bad = rng.random(), ""
            choice = re.search(r"[,?:]?\s*([A-Z][\w' .-]+?),? or ([A-Z][\w' .-]+?)\?", question)
            if right.lower().rstrip(".") in {"yes", "no"}:
                bad = "no" if right.lower().startswith("yes") else "yes"
            elif choice and right in choice.groups():
                bad = choice[2] if right == choice[1] else choice[1]
            else:
                kinds = [e.label_ for e in doc.ents if right in e.text or e.text == right]
                same = [
                    e.text
                    for e in doc.ents
                    if kinds
                    and e.label_ == kinds[0]
                    and not set(e.text.lower().split()) & set(right.lower().split())
                ]
                fresh = [e for e in same if e not in question]
                if kinds and fresh and rng.random() < 0.75:
                    bad = rng.choice(fresh)
                elif kinds and self.pools.entities.get(kinds[0]):
                    bad = rng.choice(self.pools.entities[kinds[0]])
                elif right in self.pools.nationalities:
                    bad = rng.choice(self.pools.nationalities)
                if bad and (bad.lower() in right.lower() or right.lower() in bad.lower()):
                    bad = ""
            if bad:
                for answer, label in ((right, "entailment"), (bad, "contradiction")):
                    h = self.answered(question, answer, form)
                    self.add(row["knowledge"], fix_article(h) if form < 0.1 else h, label, "qa")
            numbers = [set(re.findall(r"\d+", t)) for t in (right, wrong)]
            names = [
                {
                    n
                    for n in re.findall(r"[A-Z]\w{2,}", t)
                    if n in row["knowledge"] and n not in question
                }
                for t in (right, wrong)
            ]
            clash = any(r and w and not r & w for r, w in (numbers, names))
            label = "contradiction" if clash else "not_entailment"
            plain = f"{' '.join(question.split())} "
            known = row["knowledge"]
            by_words[len(right.split())][0].append((known, plain + right.rstrip("."), "entailment"))
            by_words[len(wrong.split())][1].append((known, plain + wrong.rstrip("."), label))
        for _, (good, false) in sorted(by_words.items()):
            count = min(len(good), len(false))
            for item in rng.sample(good, count) + rng.sample(false, count):
                self.add(*item, "qa")

    def unrelated(self, count: int) -> None:
        """Add sentences of one passage with another passage."""
        for _ in range(count):
            s, other = self.rng.sample(self.usable, 2)
            if s.doc != other.doc:
                self.add(
                    self.premise(s, self.texts(s)), self.statement(other), "neutral", "unrelated"
                )


def make_pairs(path: Path, seed: int = 0, limit: int = 8000) -> list[dict[str, Any]]:
    """Make all pairs of the first `limit` rows of the HaluEval QA file, shuffled."""
    rows = load_rows(path, limit)
    index: dict[str, int] = {}
    for row in rows:
        index.setdefault(restore_spaces(row["knowledge"]), len(index))
    _, docs = parse_passages(list(index))
    maker = PairMaker(rows, docs, seed)
    for s in maker.usable:
        maker.facts(s)
        maker.same_subject(s)
        if maker.rng.random() < 0.2:
            maker.join(s)
    maker.qa(index)
    maker.unrelated(1500)
    maker.rng.shuffle(maker.pairs)
    left, kept = Counter(QUOTAS), []
    for pair in maker.pairs:
        if left[pair["label"]] > 0:
            left[pair["label"]] -= 1
            kept.append(pair)
    maker.rng, maker.pairs = random.Random(f"{seed}/typed"), []  # the others stay as they were
    for s in maker.usable:
        maker.typed(s)
    maker.rng.shuffle(maker.pairs)
    kept += maker.pairs[:MOST_TYPED]
    maker.rng.shuffle(kept)
    return kept


def describe(pairs: list[dict[str, str]]) -> str:
    """Format counts and mean word counts per source and label, with three examples each."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for pair in pairs:
        groups[pair["source"], pair["label"]].append(pair)
    lines = [f"{len(pairs)} pairs, labels {dict(Counter(p['label'] for p in pairs))}"]
    for (source, label), rows in sorted(groups.items()):
        sizes = [
            sum(len(r[k].split()) for r in rows) / len(rows) for k in ("premise", "hypothesis")
        ]
        lines.append(f"\n{source}/{label}: {len(rows)}, mean words {sizes[0]:.1f} + {sizes[1]:.1f}")
        lines += [f"  P: {r['premise']}\n  H: {r['hypothesis']}" for r in rows[:3]]
    return "\n".join(lines)


def main() -> None:
    """Read the arguments, write the pairs, print what they are."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    pairs = make_pairs(args.source, args.seed)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    with args.out.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(pair, ensure_ascii=False) + "\n" for pair in pairs)
    print(describe(pairs))


if __name__ == "__main__":
    main()
