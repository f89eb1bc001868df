"""Long-form semantic entropy by questions about claims (Farquhar et al. 2024)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field

from veridical.claims.claim import Claim
from veridical.claims.extractors import ExtractorName
from veridical.core.evidence import Evidence
from veridical.core.messages import ChatRequest, LlmError
from veridical.core.records import Record
from veridical.core.registry import Cost, scorer
from veridical.core.scores import Score, Unit
from veridical.core.stated import stated_answer
from veridical.errors import NotApplicable
from veridical.llm.asking import failed
from veridical.prompts import load_prompt
from veridical.scorers._claim_units import claim_costs, claim_prompts, claims_to_judge
from veridical.scorers._questions import questions_in, questions_request
from veridical.scorers.consistency._clusters import entropy, grouped
from veridical.scorers.consistency.luq import Aggregate, Measure, measured
from veridical.text.refusals import abstains
from veridical.text.words import content_spans

#: Templates to generate questions and to answer one.
PROMPTS = ("claim_questions", "claim_answer")
_MAX_ANSWER_TOKENS = 128

Consistency = Measure | Literal["semantic_entropy"]


def _costs(extractor: str, **_: object) -> set[Cost]:
    return claim_costs("claim_qa", extractor, None, {"nli", "llm"})


def _prompts(extractor: str, **_: object) -> tuple[str, ...]:
    return (*claim_prompts(extractor), *PROMPTS)


@scorer(
    "claim_qa",
    level="claim",
    source="Farquhar 2024 (long-form semantic entropy); UQLM 0.6, LongTextQA",
    cost="llm",
    uses={"nli", "tokens"},
    costs_by=_costs,
    prompts=_prompts,
    raw_is="confidence",
    raw_key="consistency",
)
async def claim_qa(
    record: Record,
    evidence: Evidence,
    *,
    extractor: ExtractorName = "clauses",
    questions: Annotated[int, Field(ge=1, le=10)] = 2,
    answers: Annotated[int, Field(ge=1, le=20)] = 3,
    temperature: Annotated[float, Field(ge=0, le=2)] = 1.0,
    measure: Consistency = "contrasted_entailment",
    aggregate: Aggregate = "mean",
    llm: str | None = None,
) -> Score:
    """Compare each claim with a language model's new answers to questions about it.

    For each claim of the response the model writes questions that the claim answers. It then
    answers each question several times without seeing the response. Neither samples nor sources are
    needed. The answers reflect what the asked model knows, so name the model that wrote the
    response. A question that contains all words of its claim reveals the answer and is dropped.

    Args:
        extractor: splits the response into claims, as in ``claims``.
        questions: questions per claim, 1 to 10.
        answers: answers per question, 1 to 20.
        temperature: sampling temperature of the answers, 0 to 2; at 0 they are equal unless the
            server is nondeterministic.
        measure: comparison of an answer (premise) with the claim (hypothesis), averaged over
            answers: ``contrasted_entailment``, ``entailment`` or ``noncontradiction``, as in
            ``luq``. An answer that declines supports nothing (0). ``semantic_entropy`` is
            Farquhar's
            measure: 1 minus the entropy over clusters, as a share of the largest possible entropy.
            A cluster has those of the claim and its answers that entail each other.
        aggregate: the response's value is the mean over claims, or the minimum.
        llm: endpoint to call, also for extractors; the run's default if None.

    LLM calls per claim: 1 for questions, then ``questions`` x ``answers``.

    A claim's ``raw`` is the mean over its questions, in [0, 1] (confidence), and its risk 1 - raw.
    ``raw`` has the response's ``consistency`` and, under ``questions``, each question's ``claim``
    (index), ``answers`` and ``consistency``. A claim without a question has no risk and is not
    counted. If no claim has one, the score is not applicable, or failed if no reply could be read.

    Raises:
        NotApplicable: the response is blank, declines to answer or makes no claim.
        LlmError: the extractor failed.
    """
    record.need_answer()
    claims = await claims_to_judge(record, evidence, extractor, llm)
    asking = _Asking(record, evidence, llm)
    try:
        asked = await asking.questions(claims, questions)
        rounds = await asking.answers(asked, answers, temperature)
    except LlmError as e:
        return await failed(evidence, *(asking.troubles or [e]))
    values = await _consistencies(evidence, asked, rounds, measure)
    by_claim: dict[int, list[float]] = {}
    for one, value in zip(asked, values, strict=True):
        by_claim.setdefault(one.claim, []).append(value)
    raws = {i: float(np.mean(found)) for i, found in by_claim.items()}
    units = [_unit(record, claim, raws.get(i)) for i, claim in enumerate(claims)]
    value = float(np.mean(list(raws.values())) if aggregate == "mean" else min(raws.values()))
    rows = [
        {"claim": one.claim, "question": one.text, "answers": said, "consistency": found}
        for one, said, found in zip(asked, rounds, values, strict=True)
    ]
    return Score.of(1 - value, raw={"consistency": value, "questions": rows}, units=units)


class _Question(NamedTuple):
    """A question about a claim, with the claim's index and text."""

    claim: int
    stated: str
    text: str


class _Asking:
    """The LLM calls about one response.

    Attributes:
        troubles: errors of replies that could not be read as questions.
    """

    def __init__(self, record: Record, evidence: Evidence, llm: str | None) -> None:
        self._record, self._evidence, self._llm = record, evidence, llm
        self.troubles: list[LlmError] = []

    async def questions(self, claims: Sequence[Claim], count: int) -> list[_Question]:
        """Request up to ``count`` questions about each claim; at least one must be usable.

        Raises:
            LlmError: a call returned no reply, or no reply could be read.
            NotApplicable: there is no question.
        """
        passage = self._record.response
        requests = [
            questions_request(PROMPTS[0], count, passage=passage, claim=claim.text)
            for claim in claims
        ]
        found = []
        replies = await self._evidence.chat(requests, self._llm)
        for i, (claim, reply) in enumerate(zip(claims, replies, strict=True)):
            try:
                texts = questions_in(reply, count)
            except LlmError as e:
                self.troubles.append(e)
                continue
            open_ones = (t for t in texts if not _tells(t, claim.text))
            found += [_Question(i, claim.text, text) for text in open_ones]
        if not found:
            if self.troubles:
                raise self.troubles[0]
            raise NotApplicable("no question could be written about any claim")
        return found

    async def answers(
        self, questions: Sequence[_Question], count: int, temperature: float
    ) -> list[list[str]]:
        """Request ``count`` answers to each question.

        Raises:
            LlmError: a call returned no reply, or a blank or refused one.
        """
        prompt = load_prompt(PROMPTS[1])
        requests = [
            ChatRequest(
                prompt.messages(question=question.text),
                temperature=temperature,
                max_tokens=_MAX_ANSWER_TOKENS,
                ordinal=n,
            )
            for question in questions
            for n in range(count)
        ]
        replies = await self._evidence.chat(requests, self._llm)
        try:
            texts = [reply.whole(cut=True).strip() for reply in replies]
        except LlmError as e:
            self.troubles.insert(0, e)
            raise
        return [texts[i : i + count] for i in range(0, len(texts), count)]


async def _consistencies(
    evidence: Evidence,
    questions: Sequence[_Question],
    rounds: Sequence[Sequence[str]],
    measure: Consistency,
) -> list[float]:
    """Return the consistency in [0, 1] of each question's answers with its claim."""
    stated = [
        [stated_answer(Record(prompt=q.text, response=text), text) for text in said]
        for q, said in zip(questions, rounds, strict=True)
    ]
    if measure == "semantic_entropy":
        texts = [[q.stated, *said] for q, said in zip(questions, stated, strict=True)]
        return await _agreements(evidence, texts)
    pairs = [(a, q.stated) for q, said in zip(questions, stated, strict=True) for a in said]
    support = measured(await evidence.nli(pairs), measure).tolist()
    declined = [abstains(text) for said in rounds for text in said]
    left = iter([0.0 if d else s for s, d in zip(support, declined, strict=True)])
    return [float(np.mean([next(left) for _ in said])) for said in rounds]


async def _agreements(evidence: Evidence, groups: Sequence[Sequence[str]]) -> list[float]:
    """Return, per group, 1 - the normalised entropy over clusters of mutual entailment."""
    pairs = [(a, b) for texts in groups for a in texts for b in texts]
    entails = (await evidence.nli(pairs)).probabilities.argmax(axis=1) == 0
    found, start = [], 0
    for texts in groups:
        n = len(texts)
        table = entails[start : start + n * n].reshape(n, n)
        start += n * n
        spread = entropy(grouped(table & table.T), np.zeros(n)) / np.log(n)
        found.append(min(1.0, max(0.0, 1 - float(spread))))
    return found


def _tells(question: str, claim: str) -> bool:
    """Return True if a question contains all content words of its claim."""
    words = _content(claim)
    return bool(words) and words <= _content(question)


def _content(text: str) -> set[str]:
    return {span.text.casefold() for span in content_spans(text)}


def _unit(record: Record, claim: Claim, raw: float | None) -> Unit:
    span = claim.span(record.response)
    if raw is None:
        return Unit.of(span, None, level="claim", label="no question")
    return Unit.of(span, 1 - raw, raw=raw, level="claim")
