"""Inputs of a run: records, or prompts to answer, with retrieved contexts.

Inputs are first described, which determines the run's fingerprint and folder. They are then opened
in that folder, by a run with real models or by a dry run with counting models.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.core.records import Record
from veridical.errors import UsageError
from veridical.sampling.sampling import Sampling
from veridical.sampling.stream import Prompts, SampledSource

if TYPE_CHECKING:
    from veridical.files.rowlog import Rows
    from veridical.io.source import InputSource
    from veridical.llm.llms import Llms
    from veridical.retrieval.retrieved import RetrievedSource, Submit
    from veridical.retrieval.search import Retriever
    from veridical.run.options import RunOptions
    from veridical.sampling.sampling import Chat

#: Alternatives per token requested with answers that are to be scored.
ANSWER_LOGPROBS = 5
_PEEK = 64  # rows inspected to see if the input's prompts are still to be answered


@dataclass(frozen=True)
class Inputs:
    """The rows of a run, before it has a folder.

    Attributes:
        rows: the given rows; they must be re-readable.
        prompts: the rows with their sampling options; None if they are records.
        top: passages to retrieve for each statement of a record without contexts; None without
            retrieval.
        writes: True if an LLM writes the queries.
    """

    rows: InputSource
    prompts: Prompts | None = None
    top: int | None = None
    writes: bool = False

    @classmethod
    def of(cls, rows: InputSource, options: RunOptions, llms: Llms) -> Inputs:
        """Return the inputs for ``options``.

        Raises:
            UsageError: a mapped column is missing, or there is no prompt to sample.
        """
        rows.check_mapping()
        prompts = None
        if llms.default is not None and _asks(rows, options.sampling, options.limit):
            sampling = options.sampling or default_sampling(options.samples)
            endpoint = llms.endpoint()
            about = {"llm": endpoint.name, "model": endpoint.model}
            prompts = Prompts(rows, sampling, llms.identity(), about)
        if options.corpus is None:
            return cls(rows, prompts)
        from veridical.retrieval.retrieved import TOP

        top = TOP if options.corpus_top is None else options.corpus_top
        return cls(rows, prompts, top, options.corpus_query == "llm")

    def fingerprint(self) -> str:
        """Return a hash of the rows, and of the sampling options."""
        return (self.prompts or self.rows).fingerprint()

    def open(
        self,
        folder: Path,
        *,
        key: str | None = None,
        chat: Chat | None = None,
        retriever: Retriever | None = None,
        submit: Submit | None = None,
        writing: Chat | None = None,
        limit: int | None = None,
        again: Rows | None = None,
        unsealed: bool = False,
    ) -> Opened:
        """Open the sources, whose answers and contexts are stored in ``folder``.

        See :class:`~veridical.sampling.stream.SampledSource` and
        :class:`~veridical.retrieval.retrieved.RetrievedSource` for the arguments.

        Args:
            writing: the LLM that writes queries, if there is one.
        """
        sampled = None
        if self.prompts is not None:
            sampled = SampledSource(
                self.prompts,
                folder,
                chat=chat,
                submit=submit,
                limit=limit,
                again=again,
                key=key,
                unsealed=unsealed,
            )
        retrieved = None
        if self.top is not None:
            from veridical.retrieval.query_writing import QueryWriter
            from veridical.retrieval.retrieved import RetrievedSource

            retrieved = RetrievedSource(
                sampled or self.rows,
                folder,
                top=self.top,
                retriever=retriever,
                submit=submit,
                writer=None if writing is None else QueryWriter(writing),
                limit=limit,
                key=key,
                unsealed=unsealed,
            )
        return Opened(self.rows, sampled, retrieved)


@dataclass(frozen=True)
class Opened:
    """The sources of a run: each reads the one before it."""

    rows: InputSource
    sampled: SampledSource | None
    retrieved: RetrievedSource | None

    @property
    def records(self) -> Any:
        """The last source, which scorers read."""
        return self.retrieved or self.sampled or self.rows


def default_sampling(samples: int | None) -> Sampling:
    """Return the default sampling of answers that are to be scored."""
    return Sampling(n=samples or Sampling.n, logprobs=ANSWER_LOGPROBS)


def _asks(source: InputSource, sampling: Sampling | None, limit: int | None) -> bool:
    """Return True if prompts of ``source`` are to be answered.

    Raises:
        UsageError: ``sampling`` was given, and every record has a response.
    """
    from veridical.io.prompts import Unanswered

    if sampling is None:
        return any(isinstance(row, Unanswered) for row in itertools.islice(source.rows(), _PEEK))
    answered = False
    for row in itertools.islice(source.rows(), limit):
        if isinstance(row, Unanswered):
            return True
        answered = answered or isinstance(row, Record)
    if answered:
        raise UsageError(
            "every record has a response, so there is nothing to sample; "
            "use 'veridical sample --response given' to add samples to responses"
        )
    return True
