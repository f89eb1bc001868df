"""The ``evidence`` object: all model requests of a scorer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any, TypeVar

from veridical import plugins
from veridical.core.registry import REGISTRY, BoundScorer
from veridical.core.scores import Score
from veridical.errors import NotApplicable, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from veridical.core.images import Picture
    from veridical.core.messages import ChatRequest, Reply
    from veridical.core.protocols import TokenVectors
    from veridical.core.records import Record
    from veridical.core.tokens import GivenText, TokenProbabilities
    from veridical.core.verdicts import Verdicts

_T = TypeVar("_T")
_REASON = 300  # characters kept of the reason of a failure


class Evidence(ABC):
    """Model requests on behalf of one record. Equal requests are computed once."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self._words: dict[str, list[str]] = {}
        self._made: dict[Hashable, Any] = {}

    def words(self, text: str) -> list[str]:
        """Return word and punctuation tokens of ``text``, cased (see
        :mod:`veridical.text.words`)."""
        tokens = self._words.get(text)
        if tokens is None:
            from veridical.text.words import words_of

            tokens = self._words[text] = list(words_of(text))
        return tokens

    def once(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """Return ``make()``, cached while this record is scored, so that several scorers share it.

        The cached value must not be altered. ``key`` names the value and everything else that it
        depends on except the record; begin it with a function or string of your own. Exceptions of
        ``make`` are not cached. The value should not refer to this object: that would be a cycle.
        """
        if key not in self._made:
            self._made[key] = make()
        value: _T = self._made[key]
        return value

    async def ask(
        self, kind: str, requests: Sequence[Any], model: str | None = None
    ) -> list[NDArray[Any]]:
        """Return packed answers to ``requests``, in order, from a model of any kind: the one named
        by ``model``, or the run's own. The back end defines the form of a request.

        Args:
            kind: a name in :data:`veridical.core.kinds.KINDS`.

        Raises:
            UsageError: there is no such kind, or the run has no model of this kind.
            ModelError: the model failed on a request, or cannot be loaded.
        """
        raise UsageError(
            f"a scorer requested a {kind}, which its declared cost does not cover; declare that "
            "cost"
        )

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return sentence embeddings, (len(texts), d) float32, rows of unit length.

        Raises:
            NotApplicable: the model does not read the script of most of the texts.
            ModelError: the model failed on a text.
        """
        raise _undeclared("embeddings")

    async def embed_images(self, pictures: Mapping[str, Picture]) -> NDArray[np.float32]:
        """Return embeddings of images, (len(pictures), d) float32, rows of unit length.

        Args:
            pictures: by the name that errors use, such as ``samples[1].image``.

        Raises:
            ModelError: an image cannot be read, or the model failed on it.
        """
        raise _undeclared("an image embedder")

    async def bertscore(
        self,
        candidates: Sequence[str],
        references: Sequence[str],
        idf: Mapping[int, float] | bool | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return BERTScore precision and recall of every pair, each (len(candidates),
        len(references)).

        ``idf=True`` weights tokens by inverse document frequency over ``references``, as bert-score
        does. Raises the errors of :meth:`embed`.
        """
        raise _undeclared("token embeddings")

    async def token_vectors(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Return the contextual token vectors of each text, with their offsets in it. Request no
        more texts at once than are used together: the vectors are large. Raises the errors of
        :meth:`embed`."""
        raise _undeclared("token embeddings")

    async def token_encoder_identity(self) -> tuple[str, str]:
        """Return name and revision of the run's token encoder."""
        raise _undeclared("token embeddings")

    async def nli(self, pairs: Sequence[tuple[str, str]], model: str | None = None) -> Verdicts:
        """Return verdicts of an NLI model on (premise, hypothesis) pairs, in order.

        The model is the run's own, or ``model`` (see :data:`veridical.models.NLI_FORMS`). Request
        all pairs in one call. Equal pairs, also of other scorers, are judged once. A text entails
        itself without model work. A scorer declares the name as its parameter ``nli``, so that plan
        and fingerprint include it.

        Raises:
            NotApplicable: the model does not read the language of the premises or hypotheses.
            ModelError: the model failed on a pair, or cannot be loaded.
        """
        raise _undeclared("an NLI model")

    def nli_by_llm(self, model: str | None = None) -> bool:
        """Return True if the NLI model (the run's own, or ``model``) is an LLM, so that each pair
        is a paid call."""
        return False

    async def nli_languages(self, model: str | None = None) -> frozenset[str] | None:
        """Return the languages that the NLI model (the run's own, or ``model``) reads; None if it
        reads any. See :mod:`veridical.core.language_gate`.

        Raises:
            ModelError: the model cannot be loaded.
        """
        return None

    async def nli_name(self, model: str | None = None) -> str:
        """Return the name of the run's NLI model, or of the one named by ``model``.

        Raises:
            ModelError: the model cannot be loaded.
        """
        raise _undeclared("an NLI model")

    async def wrong_words(
        self, pairs: Sequence[tuple[str, str]], model: str | None = None
    ) -> list[NDArray[np.float64]]:
        """Return, for each pair, the risk in [0, 1] that each word of the hypothesis is wrong.

        Words are the :func:`~veridical.text.words.lettered_spans` of the hypothesis, in order. The
        same forward pass as :meth:`nli` yields them.

        Raises:
            NotApplicable: the model reports no words; else as :meth:`nli`.
            ModelError: as :meth:`nli`.
        """
        raise _undeclared("an NLI model")

    async def chat(self, requests: Sequence[ChatRequest], llm: str | None = None) -> list[Reply]:
        """Return replies to ``requests``, in order, from the run's LLM or the endpoint named
        ``llm``.

        Request all of a round in one call: they run concurrently. Equal requests, also of other
        scorers, are sent once; journaled replies are not requested again.

        Raises:
            UsageError: no LLM was named.
            LlmError: a call brought no answer. (A cut or empty one is an answer: see
                :meth:`Reply.whole`.)
        """
        raise _undeclared("an LLM")

    def tells_tokens(self, llm: str | None = None) -> bool:
        """Return True if the LLM is known to report token probabilities.

        A verdict then need not be written out. The LLM is the run's own, or ``llm``.
        """
        return False

    def calibration(self, llm: str | None = None) -> tuple[float, float] | None:
        """Return the calibration of an LLM that was trained to judge statements; else None.

        It is the intercept and slope of the risk in the log-odds of any answer but yes. The LLM is
        the run's own, or ``llm``.
        """
        return None

    async def read(
        self, texts: Sequence[GivenText], proxy: str | None = None
    ) -> list[TokenProbabilities]:
        """Return token probabilities of ``texts``, in order, from the language model ``proxy``.

        Raises:
            NotApplicable: no proxy was named.
            ModelError: the model failed on a text.
        """
        raise _undeclared("a language model")

    async def chat_prompt(
        self, messages: Sequence[dict[str, Any]], proxy: str | None = None
    ) -> str:
        """Return the literal text that precedes an answer to ``messages`` in ``proxy``'s own
        template."""
        raise _undeclared("a language model")

    async def hidden(
        self,
        texts: Sequence[tuple[str, ...]],
        proxy: str | None = None,
        layers: Sequence[int] | None = None,
    ) -> NDArray[np.float32]:
        """Return hidden states of the last token of each text, (n, k, width) float32, from the
        language model ``proxy``.

        There are k ``layers``, or (None) all of 0 .. layers. State 0 is the input of the first
        layer; the last one is after the final norm.

        A text is given in pieces, template and quoted matter in turn: special tokens are recognised
        in the template only. Request no more texts at once than are used together: states of all
        layers are large.

        Raises:
            NotApplicable: no proxy was named.
            ModelError: the model has no hidden states, a text is longer than it reads at once, or
                it failed on a text.
        """
        raise _undeclared("a language model")

    async def proxy_identity(self, proxy: str | None = None) -> tuple[str, str]:
        """Return name and revision of the language model ``proxy``. Raises the errors of
        :meth:`hidden`."""
        raise _undeclared("a language model")

    @abstractmethod
    async def _score(self, bound: BoundScorer) -> Score: ...

    async def note_failure(self, error: Exception) -> None:  # noqa: B027
        """Record that a scorer of this record failed because of ``error``.

        Exceptions that a scorer raises are recorded for it. A scorer that returns a failed score
        itself records the cause here, so that ``--retry-failed`` requests an unusable reply again.
        """

    async def score(self, name: str, **arguments: Any) -> Score:
        """Return another scorer's score of this record, computed once for all callers.

        Raises:
            UsageError: there is no such scorer or parameter, or scorers depend on each other in a
                cycle.
        """
        bound = REGISTRY.bind(name, arguments)
        bound.check()
        return await self._score(bound)


class _Added:
    """A method of :class:`Evidence` that veridical-lab implements through :meth:`Evidence.ask`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, evidence: Evidence | None, owner: type) -> Any:
        if evidence is None:
            return self
        added = plugins.load(plugins.NAMES, "core.checkpoint_evidence", f"evidence.{self._name}")
        return MethodType(getattr(added.CheckpointEvidence, self._name), evidence)


for _name in ("answer", "answerable", "choose", "likelihood", "rate", "write"):
    setattr(Evidence, _name, _Added(_name))


class LocalEvidence(Evidence):
    """Evidence without models, for ``cost="free"`` scorers. Never suspends."""

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self._scores: dict[str, Score] = {}
        self._open: list[str] = []

    async def _score(self, bound: BoundScorer) -> Score:
        score = self._scores.get(bound.key)
        if score is None:
            if bound.key in self._open:
                raise UsageError(
                    f"scorers depend on each other in a cycle: {' -> '.join(self._open)}"
                )
            self._open.append(bound.key)
            try:
                score = self._scores[bound.key] = await guarded(bound, self.record, self)
            finally:
                self._open.pop()
        return score


def score_locally(record: Record, scorers: Sequence[BoundScorer]) -> list[Score]:
    """Score ``record`` with free scorers, in this thread, without an event loop."""
    evidence = LocalEvidence(record)
    scores = []
    for bound in scorers:
        coroutine = evidence._score(bound)
        try:
            coroutine.send(None)
        except StopIteration as done:
            scores.append(done.value)
        else:
            coroutine.close()
            scores.append(_signed(bound, Score.failed("a free scorer must not await")))
    return scores


def _undeclared(what: str) -> UsageError:
    return UsageError(
        f"a scorer requested {what}, which its declared cost does not cover; declare that cost"
    )


async def guarded(
    bound: BoundScorer,
    record: Record,
    evidence: Evidence,
    models: str | Callable[[], str] = "",
) -> Score:
    """Return the scorer's score with its signature; an exception becomes a status with its reason.

    Other records are not affected.

    Args:
        models: part of the signature; a function is called after the scorer has finished.
    """
    try:
        for field in sorted(bound.needs):  # sorted: the same field is reported in every process
            if not record.has(field):
                raise NotApplicable(f"the record has no {field}")
        score = await bound(record, evidence)
        if not isinstance(score, Score):
            raise TypeError(f"the scorer returned {type(score).__name__}, not a Score")
    except NotApplicable as e:
        score = Score.not_applicable(str(e))
    except Exception as e:
        await evidence.note_failure(e)
        score = Score.failed(failure(e))
    return _signed(bound, score, models if isinstance(models, str) else models())


def failure(error: BaseException) -> str:
    """Return the reason of a failure, bounded and on one line."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= _REASON else text[: _REASON - 3] + "..."


def _signed(bound: BoundScorer, score: Score, models: str = "") -> Score:
    return score.model_copy(update={"signature": bound.signature(models)})
