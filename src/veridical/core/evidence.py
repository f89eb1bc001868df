"""What a scorer sees: ``evidence``, through which it asks for everything it needs."""

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
_REASON = 300  # characters of a failure's reason that are kept


class Evidence(ABC):
    """Requests on behalf of one record. Everything asked twice is computed once."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self._words: dict[str, list[str]] = {}
        self._made: dict[Hashable, Any] = {}

    def words(self, text: str) -> list[str]:
        """Word and punctuation tokens of ``text``, cased (see :mod:`veridical.text.words`)."""
        tokens = self._words.get(text)
        if tokens is None:
            from veridical.text.words import words_of

            tokens = self._words[text] = list(words_of(text))
        return tokens

    def once(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """``make()``, kept for as long as this record is scored: what several scorers read.

        Nobody may alter what is kept. ``key`` names the thing and all that it depends on besides
        the record; begin it with a function or string of your own. What ``make`` raises is not
        kept. What it returns should not refer to this object: that would be a cycle.
        """
        if key not in self._made:
            self._made[key] = make()
        value: _T = self._made[key]
        return value

    async def ask(
        self, kind: str, requests: Sequence[Any], model: str | None = None
    ) -> list[NDArray[Any]]:
        """Packed answers to ``requests``, in order, by a model of any kind: the one that ``model``
        names, or the run's own. What a request is the back end says.

        Args:
            kind: a name in :data:`veridical.core.kinds.KINDS`.

        Raises:
            UsageError: there is no such kind, or the run has no model of its own of it.
            ModelError: the model failed on one of them, or cannot be loaded.
        """
        raise UsageError(f"a scorer asked a {kind}, which its declared cost does not cover")

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Sentence embeddings, (len(texts), d) float32, rows of unit length.

        Raises:
            NotApplicable: the model does not read the script most of the texts are in.
            ModelError: the model failed on one of them.
        """
        raise _undeclared("embeddings")

    async def embed_images(self, pictures: Mapping[str, Picture]) -> NDArray[np.float32]:
        """Embeddings of images, (len(pictures), d) float32, rows of unit length.

        Args:
            pictures: by what an error is to call them, such as ``samples[1].image``.

        Raises:
            ModelError: one of them cannot be read, or the model failed on it.
        """
        raise _undeclared("an image embedder")

    async def bertscore(
        self,
        candidates: Sequence[str],
        references: Sequence[str],
        idf: Mapping[int, float] | bool | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """BERTScore precision and recall of every pair, each (len(candidates), len(references)).

        ``idf=True`` weighs tokens by inverse document frequency over ``references``, as
        bert-score does. Raises as :meth:`embed` does.
        """
        raise _undeclared("token embeddings")

    async def token_vectors(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Contextual vectors of the tokens of each text, with their places in it. Ask for no more
        at once than is used up together. Raises as :meth:`embed` does."""
        raise _undeclared("token embeddings")

    async def token_encoder_identity(self) -> tuple[str, str]:
        """Name and revision of the run's token encoder."""
        raise _undeclared("token embeddings")

    async def nli(self, pairs: Sequence[tuple[str, str]], model: str | None = None) -> Verdicts:
        """Verdicts of an NLI model on (premise, hypothesis) pairs, in order: the run's own, or
        the one that ``model`` names (see :data:`veridical.models.NLI_FORMS`).

        Ask for all pairs in one call. Pairs that occur twice, here or in another scorer's
        request, are judged once. A text entails itself, so that costs no model work. A scorer
        takes the name as its parameter ``nli``, so that plan and fingerprint know of it.

        Raises:
            NotApplicable: the model does not read the language of the premises or hypotheses.
            ModelError: the model failed on one of the pairs, or cannot be loaded.
        """
        raise _undeclared("an NLI model")

    def nli_by_llm(self, model: str | None = None) -> bool:
        """Whether the run's NLI model, or the one that ``model`` names, is an LLM, so that each
        pair is a call to be paid for."""
        return False

    async def nli_languages(self, model: str | None = None) -> frozenset[str] | None:
        """Return the languages that the run's NLI model reads, or the one that ``model`` names;
        None if it reads any (see :mod:`veridical.core.language_gate`).

        Raises:
            ModelError: it cannot be loaded.
        """
        return None

    async def nli_name(self, model: str | None = None) -> str:
        """The name of the run's NLI model, or of the one that ``model`` names.

        Raises:
            ModelError: it cannot be loaded.
        """
        raise _undeclared("an NLI model")

    async def wrong_words(
        self, pairs: Sequence[tuple[str, str]], model: str | None = None
    ) -> list[NDArray[np.float64]]:
        """For each of ``pairs`` the risk in [0, 1] that a word of the hypothesis is wrong, of its
        :func:`~veridical.text.words.lettered_spans` in order. The forward that judges a pair
        (:meth:`nli`) tells it too.

        Raises:
            NotApplicable: the model tells no words; else as :meth:`nli`.
            ModelError: as :meth:`nli`.
        """
        raise _undeclared("an NLI model")

    async def chat(self, requests: Sequence[ChatRequest], llm: str | None = None) -> list[Reply]:
        """Replies to ``requests``, in order, by the run's LLM or by the endpoint named ``llm``.

        Ask for all of a round in one call: they run concurrently. Equal requests, here or in
        another scorer's, are sent once; what the journal holds is not sent at all.

        Raises:
            UsageError: no LLM was named.
            LlmError: one of the calls brought no answer. (A cut or empty one is an answer:
                see :meth:`Reply.whole`.)
        """
        raise _undeclared("an LLM")

    def tells_tokens(self, llm: str | None = None) -> bool:
        """Whether the run's LLM, or the endpoint named ``llm``, surely tells the probabilities of
        the tokens that it writes, so that a verdict need not be written out."""
        return False

    def calibration(self, llm: str | None = None) -> tuple[float, float] | None:
        """Intercept and slope of the risk, by the log-odds of anything but yes, where the run's
        LLM, or the endpoint named ``llm``, is a checker trained to judge statements; else None."""
        return None

    async def read(
        self, texts: Sequence[GivenText], proxy: str | None = None
    ) -> list[TokenProbabilities]:
        """Token probabilities of ``texts``, in order, by the language model ``proxy``.

        Raises:
            NotApplicable: no proxy was named.
            ModelError: the model failed on one of them.
        """
        raise _undeclared("a language model")

    async def chat_prompt(
        self, messages: Sequence[dict[str, Any]], proxy: str | None = None
    ) -> str:
        """The literal text that precedes an answer to ``messages`` in ``proxy``'s own template."""
        raise _undeclared("a language model")

    async def hidden(
        self,
        texts: Sequence[tuple[str, ...]],
        proxy: str | None = None,
        layers: Sequence[int] | None = None,
    ) -> NDArray[np.float32]:
        """Hidden states of the last token of each text, (n, k, width) float32, by the language
        model ``proxy``: after each of k ``layers``, or (None) all of 0 .. layers. 0 is what enters
        the first layer; the last is after the final norm.

        A text comes in pieces, template and quoted matter by turns: what spells a special token
        is one in the template only. Ask for no more at once than is used up together: the states
        of all layers are large.

        Raises:
            NotApplicable: no proxy was named.
            ModelError: the model tells no hidden states, or a text is longer than it reads at
                once, or it failed on one of them.
        """
        raise _undeclared("a language model")

    async def proxy_identity(self, proxy: str | None = None) -> tuple[str, str]:
        """Name and revision of the language model ``proxy``; raises as :meth:`hidden` does."""
        raise _undeclared("a language model")

    @abstractmethod
    async def _score(self, bound: BoundScorer) -> Score: ...

    async def note_failure(self, error: Exception) -> None:  # noqa: B027
        """A scorer of this record cannot go on because of ``error``.

        What a scorer raises is noted for it. One that returns a failed score itself, to say more,
        tells here why, so that a reply it could not use is asked for anew by ``--retry-failed``.
        """

    async def score(self, name: str, **arguments: Any) -> Score:
        """Another scorer's score of this record, computed once however many ask.

        Raises:
            UsageError: no such scorer or parameter, or the scorers ask for each other in a ring.
        """
        bound = REGISTRY.bind(name, arguments)
        bound.check()
        return await self._score(bound)


class _Added:
    """A method of :class:`Evidence` that the laboratory defines, by :meth:`Evidence.ask`."""

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
    """Evidence without models: all a ``cost="free"`` scorer may use. Never suspends."""

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self._scores: dict[str, Score] = {}
        self._open: list[str] = []

    async def _score(self, bound: BoundScorer) -> Score:
        score = self._scores.get(bound.key)
        if score is None:
            if bound.key in self._open:
                raise UsageError(f"scorers ask for each other: {' -> '.join(self._open)}")
            self._open.append(bound.key)
            try:
                score = self._scores[bound.key] = await guarded(bound, self.record, self)
            finally:
                self._open.pop()
        return score


def score_locally(record: Record, scorers: Sequence[BoundScorer]) -> list[Score]:
    """Scores of ``record`` by free scorers, in this thread, without an event loop."""
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
            scores.append(_signed(bound, Score.failed("a free scorer must not wait for anything")))
    return scores


def _undeclared(what: str) -> UsageError:
    return UsageError(f"a scorer asked for {what}, which its declared cost does not cover")


async def guarded(
    bound: BoundScorer,
    record: Record,
    evidence: Evidence,
    models: str | Callable[[], str] = "",
) -> Score:
    """The scorer's score, with its signature; what it raises becomes a status with its reason.

    ``models`` goes into the signature; a function is asked when the scorer is through.

    One record's failure is that record's failed score: nothing else moves.
    """
    try:
        for field in sorted(bound.needs):  # the same one in every process
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
    """A failure's reason, bounded and on one line."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= _REASON else text[: _REASON - 3] + "..."


def _signed(bound: BoundScorer, score: Score, models: str = "") -> Score:
    return score.model_copy(update={"signature": bound.signature(models)})
