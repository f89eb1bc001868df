"""Every function that takes a text, as a function of one text: what a growth test calls."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Coroutine
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from growing import Function

from veridical.claims.attribution import ReadingOptions, judge
from veridical.claims.bm25 import Bm25, terms
from veridical.claims.categories import categories
from veridical.claims.claim import Claim
from veridical.claims.extractors import (
    clauses,
    given,
    llm_output,
    llm_subsentence,
    llm_triplets,
    response,
    sentences,
    triplets,
)
from veridical.claims.extractors.clause_rules import clauses_of
from veridical.claims.select import select
from veridical.claims.triplets import Places, statement
from veridical.core.evidence import LocalEvidence, score_locally
from veridical.core.messages import LlmError, Reply
from veridical.core.records import Record, TokenLogprob
from veridical.core.registry import REGISTRY
from veridical.core.scores import Result, Score, Unit
from veridical.core.tokens import GivenText
from veridical.decide.repair import apply, changes_of
from veridical.decide.unsupported import as_sentences, flaws
from veridical.errors import NotApplicable
from veridical.io.cells import cell_value
from veridical.io.columns import Columns
from veridical.io.formats import Cursor, csv_rows, json_or_jsonl, jsonl_rows, sniff
from veridical.io.lines import read_lines
from veridical.io.problems import RowProblem
from veridical.io.readers import READERS
from veridical.llm.replies import read_replies
from veridical.llm.structured import read_json
from veridical.llm.verdicts import read_verdict
from veridical.models.causal.echo import read_echo
from veridical.models.nli.chunks import even_chunks, filled_chunks
from veridical.models.windows import Windower
from veridical.prompts import load_prompt
from veridical.prompts.fences import fence
from veridical.report.payload import detail, index_row, search_text, show
from veridical.retrieval.corpus.documents import decoded
from veridical.retrieval.corpus.html import read_html
from veridical.retrieval.corpus.pieces import pieces
from veridical.retrieval.corpus.words import index_terms
from veridical.scorers.consistency.exact_match import normalized
from veridical.text.display import shown, visible
from veridical.text.fact_sources import FactSources
from veridical.text.facts import Facts
from veridical.text.final_number import final_number
from veridical.text.normal_form import contains, tokens
from veridical.text.passages import windows
from veridical.text.refusals import abstains
from veridical.text.relevance import MostAbout, Rarity
from veridical.text.scripts import script_shares
from veridical.text.sentences import split_sentences
from veridical.text.spans import Span
from veridical.text.token_spans import MisalignedTokens, token_spans
from veridical.text.words import lower_words, word_spans, words
from veridical.tuning.graders.choice import named_option
from veridical.tuning.graders.grade import quoted
from veridical.tuning.graders.match import Contains

_MODEL = Path(__file__).parents[2] / "src/veridical/models/data/all-MiniLM-L6-v2"


def _now(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine that waits for nothing returns."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waits for something")


def _quietly(function: Function, *errors: type[Exception]) -> Function:
    """``function``, whose ``errors`` are answers too."""

    def call(text: str) -> object:
        with contextlib.suppress(*errors):
            return function(text)
        return None

    return call


def _extracted(extract: Callable[..., Any]) -> Function:
    def call(text: str) -> object:
        record = Record(response=text)
        return _now(extract(record, LocalEvidence(record)))

    return _quietly(call, NotApplicable)


def _pieces_of(text: str, size: int = 4) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)]


def _scored(spec: str, role: str) -> Function:
    """A free scorer: the text is the response, the source, or both."""

    def call(text: str) -> object:
        other = "Ann Lee was not born in Rome in 1990. She paid $3.5 million."
        answer, source = {
            "response": (text, other),
            "source": (other, text),
            "both": (text, "He said: " + text),
        }[role]
        record = Record(response=answer, samples=[source], contexts=[source], reference=[source])
        return score_locally(record, REGISTRY.parse(spec))

    return call


def _located(text: str) -> object:
    places = Places(Record(response=text))
    half = text[: min(500, len(text))]
    return [places.locate(c) for c in (half, (half, "was", "Rome"), text)]


class _Chat(LocalEvidence):
    """Answers every request with the same text."""

    def __init__(self, record: Record, said: str) -> None:
        super().__init__(record)
        self._said = said

    async def chat(self, requests: Any, llm: str | None = None) -> list[Reply]:
        return [Reply(self._said, "stop") for _ in requests]


def _said_claims(extract: Callable[..., Any]) -> Function:
    def call(text: str) -> object:
        record = Record(response="Ann Lee was born in Rome in 1990. She sang.")
        return _now(extract(record, _Chat(record, text)))

    return _quietly(call, NotApplicable, LlmError)


def _given(text: str) -> object:
    claims = [text[:900], [text[:900], "is", "a"]]
    return given.given_claims(Record(response=text, meta={"claims": claims}))


def _taken(text: str) -> object:
    """A model's claims: each line of the text, of a response that is the text."""
    taken = llm_output.AcceptedClaims(Record(response=text))
    for line in llm_output.lines_of(text):
        taken.sentence(line, line)
    for part in _pieces_of(text, 90):
        taken.triplet([part[:30], part[30:60], part[60:]])
    with contextlib.suppress(LlmError):
        return taken.extraction(text)
    return None


def _claims(text: str) -> list[Claim]:
    found = [Claim(s.text, s.start, s.end, i) for i, s in enumerate(split_sentences(text))]
    return found or [Claim(text, 0, len(text), 0)]


async def _neutral(pairs: Any, evidence: Any, alternatives: Any) -> Any:
    return np.tile([0.3, 0.4, 0.3], (len(pairs), 1))


def _judged(text: str) -> object:
    """Every sentence of the text judged by the text, with a checker that costs nothing."""
    record = Record(response=text, contexts=[text])
    sources = record.against("contexts")
    return _now(
        judge(_claims(text), sources, LocalEvidence(record), _neutral, ReadingOptions(top=2))
    )


def _selected(text: str) -> object:
    record = Record(response=text)
    passages = [p.text for p in windows(text)]
    return _now(select([c.text for c in _claims(text)], passages, LocalEvidence(record), top=2))


def _categories(text: str) -> object:
    claims = [c.text for c in _claims(text)]
    return categories(text, claims, ["neutral"] * len(claims), [text])


def _about(text: str) -> object:
    split = [words(s.text) for s in split_sentences(text)] or [[text]]
    return MostAbout(split).place(words(text)), Rarity(split).overlap(words(text), split[0])


def _all_facts(text: str) -> object:
    facts = Facts(text)
    spans = [(s.start, s.end) for s in split_sentences(text)]
    for start, end in spans:
        first, stop = facts.token_range(start, end)
        facts.negation(first, stop)
        facts.stems(first, stop)
    return facts.find(spans), facts.find([(0, len(text))])


def _looked_up(text: str) -> object:
    look_up = FactSources([text, text[: len(text) // 2]])
    return [look_up.find(f) for f in Facts(text).find([(0, len(text))])[0]]


def _placed(read: Callable[[str], str]) -> Function:
    def call(text: str) -> object:
        with contextlib.suppress(MisalignedTokens):
            return token_spans([read(t) for t in _pieces_of(text)], text)
        return None

    return call


def _byte_level(token: str) -> str:
    return token.replace(" ", "Ġ").replace("\n", "Ċ")


def _escaped(token: str) -> str:
    return "bytes:" + "".join(f"\\x{b:02x}" for b in token.encode())


def _lost(token: str) -> str:
    return "".join(c if c.isascii() else "\ufffd" for c in token) + "\ufffd"


def _verdict(name: str, logprobs: bool = False) -> Function:
    def call(text: str) -> object:
        told = None
        if logprobs:
            told = tuple(
                TokenLogprob.model_validate(
                    {"token": t, "logprob": -1, "top": [{"token": "Yes", "logprob": -1}]}
                )
                for t in _pieces_of(text)
            )
        return read_verdict(Reply(text, "stop", told), load_prompt(name))

    return _quietly(call, LlmError)


def _echoed(text: str) -> object:
    told = _pieces_of("A: " + text)
    logprobs = {"tokens": told, "token_logprobs": [None, *[-1.0] * (len(told) - 1)]}
    body = {"choices": [{"text": "A: " + text, "logprobs": logprobs}]}
    return read_echo(body, GivenText("A: ", text), "echo", 5)


def _replied(text: str) -> object:
    told = [{"token": t, "logprob": -1.0, "top_logprobs": []} for t in _pieces_of(text)]
    choice = {"message": {"content": text}, "logprobs": {"content": told}}
    return read_replies({"choices": [choice], "model": text}, 1)


def _read_lines(text: str) -> object:
    return list(read_lines(BytesIO(text.encode())))


def _csv(text: str) -> object:
    table = b"response\n" + text.encode()
    return list(csv_rows(BytesIO(table), Cursor(), "x", field_of=Columns().field_of))


def _csv_cell(text: str) -> object:
    table = 'response,contexts,prompt\n"a","' + text.replace('"', '""') + '","b"\n'
    return list(csv_rows(BytesIO(table.encode()), Cursor(), "x", field_of=Columns().field_of))


def _cells(text: str) -> object:
    found: list[object] = []
    for field in ("label", "logprobs", "samples", "contexts", "reference", "prompt", "meta"):
        for cell in (text, "[" + text, '["' + text + '"]', "{" + text):
            with contextlib.suppress(RowProblem):
                found.append(cell_value(field, cell))
    return found


def _row(text: str) -> object:
    columns = Columns({"prompt": "a.b.c"})
    with contextlib.suppress(RowProblem):
        return columns.record({"answer": text, "context": text, text: text, "a": {"b": text}}, 0)
    return None


def _columns(text: str) -> object:
    """A row with as many columns as the text has words."""
    row: dict[str, Any] = {f"{w[:40]} {i}": 1 for i, w in enumerate(text.split()[:50_000])}
    row |= {"id": text[:30], "response": "x", "logprobs": [text] * 2}
    with contextlib.suppress(RowProblem):
        return Columns().record(row, 0)
    return None


def _header(text: str) -> object:
    """A table whose header is the text, each column of another name."""
    names = [f"{p.strip() or 'x'} {i}".replace(",", " ") for i, p in enumerate(_pieces_of(text))]
    table = ",".join(n.replace('"', "").replace("\n", " ").replace("\r", " ") for n in names)
    data = f"{table},response\n{'1,' * len(names)}a\n".encode()
    return list(csv_rows(BytesIO(data), Cursor(), "x", field_of=Columns().field_of))


def _readers(text: str) -> object:
    rows: list[dict[str, Any]] = [
        {"gpt3_text": text, "gpt3_sentences": _pieces_of(text), "annotation": []},
        {
            "gpt3_text": text,
            "gpt3_sentences": _pieces_of(text),
            "annotation": ["accurate"] * len(_pieces_of(text)),
        },
        {"Question": text, "Correct Answers": text, "Incorrect Answers": text},
        {"claim": text, "doc": text, "label": text},
        {text: text},
    ]
    readers = ("wikibio", "wikibio", "truthfulqa", "aggrefact", "halueval")
    return [READERS[name].read(row, 0) for name, row in zip(readers, rows, strict=True)]


def _result(text: str) -> tuple[Record, Result]:
    record = Record(response=text, contexts=[text])
    units = tuple(Unit.of(s, float(i % 2)) for i, s in enumerate(record.sentences))
    score = Score.of(0.5, units=units, raw={"a": text})
    return record, Result(id=0, row=0, risk=0.5, by="support", scores={"support": score})


def _reported(text: str) -> object:
    record, result = _result(text)
    told = detail(record, result), index_row(record, result)
    return json.dumps(told), search_text(record, result), show(text), show([text]), quoted(text)


def _repaired(text: str) -> object:
    record, result = _result(text)
    plan = flaws(record, result.scores["support"])
    written = [as_sentences([f.sentence.text, "It is so, "], f.sentence.text) for f in plan]
    kept = changes_of(text, plan, written)
    return apply(text, changes_of(text, plan, [""] * len(plan))), apply(text, kept)


@cache
def _windower() -> Windower:
    from tokenizers import Tokenizer

    return Windower(Tokenizer.from_file(str(_MODEL / "tokenizer.json")), 256)


def _named_columns(text: str) -> object:
    return [Columns().field_of(w) for w in text.split()[:1000]], visible(text), shown({text: text})


def _in_contexts(text: str) -> object:
    found = tokens(text)
    return contains(found, [*found[: len(found) // 2], "x"]) if found else None


def _graded(text: str) -> object:
    return _now(Contains().grade(Record(response=text, reference=[text[: len(text) // 2] + "x"])))


_JSON = {"type": "object", "properties": {"score": {"type": "integer"}}}
_CHOICES = {"A": "Rome", "B": "not Rome", "C": "a a a a", "D": "7"}

FUNCTIONS: dict[str, Function] = {
    "words": words,
    "lower_words": lower_words,
    "word_spans": word_spans,
    "split_sentences": split_sentences,
    "windows": windows,
    "Facts": _all_facts,
    "FactSources": _looked_up,
    "relevance": _about,
    "script_shares": script_shares,
    "token_spans": _placed(str),
    "token_spans, byte level": _placed(_byte_level),
    "token_spans, escaped": _placed(_escaped),
    "token_spans, lost": _placed(_lost),
    "token_spans, upper": _placed(str.upper),
    "final_number": final_number,
    "named_option": lambda text: named_option(text, _CHOICES),
    "normal form": tokens,
    "contains": _in_contexts,
    "grade": _graded,
    "verdict of words": _verdict("selfcheck_paper"),
    "verdict of numbers": _verdict("likert"),
    "verdict of phrases": _verdict("verbalized_phrases"),
    "verdict by probability": _verdict("selfcheck_paper", True),
    "read_json": _quietly(lambda text: read_json(text, _JSON), LlmError),
    "read_json, fenced": _quietly(lambda t: read_json("```json\n" + t + "\n```", _JSON), LlmError),
    "fence": lambda text: fence({"a": text, "b": text}, b"0" * 16),
    "read_echo": _quietly(_echoed, LlmError),
    "read_replies": _quietly(_replied, Exception),
    "abstains": abstains,
    "Places": _located,
    "clauses_of": clauses_of,
    "clauses": _extracted(clauses.extract),
    "claim triplets": _extracted(triplets.extract),
    "claim sentences": _extracted(sentences.extract),
    "claim response": _extracted(response.extract),
    "given claims": _quietly(_given, ValueError),
    "llm triplets": _said_claims(llm_triplets.extract),
    "llm subsentences": _said_claims(llm_subsentence.extract),
    "AcceptedClaims": _taken,
    "plain": llm_output.plain,
    "statement": lambda text: statement((text, "is", text)),
    "list_in": _quietly(lambda text: llm_output.list_in(text, "claims"), LlmError),
    "judge": _quietly(_judged, NotApplicable),
    "select": _selected,
    "categories": _categories,
    "Bm25": lambda text: Bm25([terms(words(text))] * 2).scores([terms(words(text))]),
    "read_html": read_html,
    "pieces": lambda text: list(pieces(text)),
    "index_terms": index_terms,
    "decoded": lambda text: decoded(text.encode()),
    "read_lines": _read_lines,
    "csv": _csv,
    "csv cell": _csv_cell,
    "csv header": _header,
    "cells": _cells,
    "row": _row,
    "columns": _columns,
    "column names": _named_columns,
    "jsonl": lambda text: list(jsonl_rows(BytesIO(text.encode()), Cursor())),
    "sniff": _quietly(lambda text: sniff(text.encode(), "x"), Exception),
    "json_or_jsonl": lambda text: json_or_jsonl(b"{" + text.encode()),
    "readers": _readers,
    "report": _reported,
    "repair": _repaired,
    "even_chunks": even_chunks,
    "filled_chunks": lambda text: filled_chunks(text, 50, len),
    "normalized": normalized,
    "Windower": lambda text: _windower()([text]),
    "sentences of records": lambda text: [
        Span(s.start, s.end, s.text) for s in Record(response=text).sentences
    ],
    **{
        f"{spec}, {role}": _scored(spec, role)
        for spec in (
            "support",
            "ngram",
            "ngram(n=3)",
            "ngram_presence",
            "exact_match(normalize=true)",
            "knowledge_f1",
            "rouge_l",
            "sacrebleu",
            "sacrebleu(tokenize=intl)",
            "sacrebleu(tokenize=zh)",
            "sacrebleu(tokenize=char)",
        )
        for role in ("response", "source", "both")
    },
}
