"""What a run reads: records, or prompts that are answered, with contexts found for them.

It is described first, which gives the run its fingerprint and with that its folder, and then
opened in that folder, by a run with real models and by a dry run with such as count.
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

#: Alternatives a token asked for with answers that are to be scored.
ANSWER_LOGPROBS = 5
_PEEK = 64  # rows that tell whether the input's prompts are still to be answered


@dataclass(frozen=True)
class Inputs:
    """The rows of a run, before it has a folder.

    Attributes:
        rows: as they are given; it must be possible to read them again.
        prompts: those rows with the way in which they are answered; None where they are records.
        top: passages to find for each statement of a record without contexts; None where nothing
            is searched.
        writes: whether an LLM writes what is searched for.
    """

    rows: InputSource
    prompts: Prompts | None = None
    top: int | None = None
    writes: bool = False

    @classmethod
    def of(cls, rows: InputSource, options: RunOptions, llms: Llms) -> Inputs:
        """The inputs that ``options`` ask for.

        Raises:
            UsageError: a mapped column is not there, or there is no prompt to sample.
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
        """Hash of the rows, and of how prompts are answered."""
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
        """Sources whose answers and contexts are kept in ``folder``; see
        :class:`~veridical.sampling.stream.SampledSource` and
        :class:`~veridical.retrieval.retrieved.RetrievedSource` for the arguments.

        Args:
            writing: the LLM that writes queries, where one does.
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
        """The last one: what scorers get."""
        return self.retrieved or self.sampled or self.rows


def default_sampling(samples: int | None) -> Sampling:
    """How prompts are answered where nothing is said of it, for answers that are to be scored."""
    return Sampling(n=samples or Sampling.n, logprobs=ANSWER_LOGPROBS)


def _asks(source: InputSource, sampling: Sampling | None, limit: int | None) -> bool:
    """Whether prompts of ``source`` are to be answered.

    Raises:
        UsageError: they are, by ``sampling``, and every record has a response.
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
            "'veridical sample --response given' draws samples besides responses"
        )
    return True
