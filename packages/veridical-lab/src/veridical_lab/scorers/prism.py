"""PRISM: likelihood under a translation model as paraphraser (Thompson & Post 2020)."""

from __future__ import annotations

from veridical.core.records import Against, Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical_lab.models.evidence import CheckpointEvidence as Evidence
from veridical_lab.scorers.conditional import Direction, mean_likelihood, risk_of


@scorer(
    "prism",
    level="response",
    needs={"against"},
    source="Thompson & Post 2020 (Prism-ref, Prism-src), by any encoder-decoder",
    cost="seq2seq",
    raw_is="confidence",
    raw_key="prism",
    checkpoints={"model": "seq2seq"},
)
async def prism(
    record: Record,
    evidence: Evidence,
    *,
    against: Against = "reference",
    direction: Direction = "mean",
    language: str | None = "en",
    model: str = "facebook/m2m100_418M",
) -> Score:
    """Score the mean log-probability of the response as a translation into the same language.

    The token that marks the language is given and does not count; the end token does.

    Args:
        against: with ``reference`` and ``direction=mean`` it is Prism-ref, the mean of both
            directions; ``contexts`` with ``to_response`` is Prism-src's form. Contexts are one
            document, joined by newlines; of several references the best counts, over samples the
            mean.
        direction: ``to_response`` reads the response after the source, ``from_response`` the
            source after the response, ``mean`` takes the arithmetic mean of the two.
        language: of response and source, as the model's tokenizer names it (``en``, ``eng_Latn``,
            ``en_XX``); None for a model without languages.
        model: hub id or folder of any encoder-decoder. The paper's own (m39v1) exists only as a
            pickled fairseq checkpoint, which is never read.

    ``raw`` (confidence) is ``{"prism", "to_response", "from_response"}`` in nats, at most 0, with
    the requested directions; risk is ``x / (x + 1)`` of ``x = -prism``. Long texts are read as
    ``bart_score`` reads them.
    """
    value, ways = await mean_likelihood(
        evidence, record.need_answer(), record.against(against), direction, model, language
    )
    return Score.of(risk_of(value), raw={"prism": value, **ways})
