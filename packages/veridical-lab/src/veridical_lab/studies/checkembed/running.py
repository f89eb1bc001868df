"""Runner of the studies: generation, scoring and figures.

Each part resumes.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.api import AUTO, Job, fingerprint
from veridical.core.registry import BoundScorer
from veridical.core.resolving import resolve
from veridical.core.scores import Score
from veridical.engine.engine import Engine
from veridical.engine.options import EngineOptions
from veridical.errors import UsageError, option_named
from veridical.models.images.decoding import need_pillow
from veridical.prompts import load_prompt
from veridical.run.display import Display, watch
from veridical.scorers.grounding.sacre_bleu import bleu_matrix
from veridical.version import __version__
from veridical_lab.studies.checkembed import counting, measuring, records, timing
from veridical_lab.studies.checkembed.asks import Ask, Chunk, asks_of, prompts_of, read_chunks
from veridical_lab.studies.checkembed.folder import StudyFolder
from veridical_lab.studies.checkembed.generating import Written, counted, write_texts
from veridical_lab.studies.checkembed.matrices import comet_style, summarised
from veridical_lab.studies.checkembed.notes import notes_of
from veridical_lab.studies.checkembed.options import STUDIES, CheckEmbedSetup, studies_of
from veridical_lab.studies.checkembed.result import STORED, Group, Studies

if TYPE_CHECKING:
    from veridical.core.records import Record

#: Default folder of runs of studies, under the current folder.
FOLDER = Path(".veridical") / "studies"
#: Default scorers.
DEFAULT = "checkembed, bert_score, selfcheck_bertscore, selfcheck_nli, sacrebleu(against=samples)"
MATRICES = "checkembed(judged=samples), bert_score(form=matrix)"
#: Studies of numbers of errors.
LEVELS = ("errors", "counting")
#: Studies that a language model writes texts for.
WRITTEN = tuple(name for name in STUDIES if name not in ("runtime", "counting"))


@dataclass(frozen=True)
class StudyRequest:
    """Validated request, before any work.

    Attributes:
        asks: by study, for studies with generated texts.
        chunks: of ``terms``, by name.
        scorers: of ``pairs`` and ``errors``.
    """

    studies: tuple[str, ...]
    options: CheckEmbedSetup
    asks: dict[str, list[Ask]]
    chunks: dict[str, Chunk]
    scorers: list[BoundScorer]
    data: str | None = None

    @classmethod
    def of(
        cls, names: Sequence[str], options: CheckEmbedSetup, engine: EngineOptions
    ) -> StudyRequest:
        """Build and validate the request.

        Raises:
            UsageError: a study or scorer is unknown, or a requirement is missing.
            ModelError: pictures are to be drawn, and Pillow is not installed.
        """
        studies = studies_of(names)
        options.refuse_unused(studies)
        chunks: list[Chunk] = []
        digest = None
        if "terms" in studies:
            if options.data is None:
                what = option_named("data", "PATH")
                raise UsageError(f"the study 'terms' needs {what}, as legal_definitions.json")
            chunks = read_chunks(Path(options.data))
            content = Path(options.data).read_bytes()
            digest = hashlib.blake2b(content, digest_size=8).hexdigest()
        if "counting" in studies:
            need_pillow()
        asks = {s: asks_of(s, options, chunks) for s in studies if s in WRITTEN}
        if asks and engine.llm is None:
            what = option_named("llm", "NAME")
            raise UsageError(f"{', '.join(asks)}: a language model writes the texts ({what})")
        scorers = resolve(options.scorers or DEFAULT)
        if "runtime" in studies:
            for bound in scorers if options.scorers else ():
                if "llm" in bound.costs:
                    raise UsageError(f"{bound.key} asks a language model: runtime times models")
        return cls(studies, options, asks, {c.name: c for c in chunks}, scorers, digest)

    def identity(self, engine: Engine) -> dict[str, Any]:
        """Return the identity of the run: studies, options, models and data."""
        kinds = ["embedder", "token_encoder", "nli"]
        kinds += ["image_embedder"] if "counting" in self.studies else []
        own = {kind: engine.own(kind) for kind in kinds}
        return {
            "studies": list(self.studies),
            "settings": self.options.settings(self.studies),
            "data": self.data,
            "llm": engine.llms.identity() if self.asks else None,
            "prompts": [load_prompt(p).identity for s in self.asks for p in prompts_of(s)],
            "models": own,
        }


@dataclass
class _Scored:
    """The scores of a study's records, by id and scorer."""

    scores: dict[str, dict[str, Score]] = field(default_factory=dict)
    coverage: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, int] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)


def run_studies(
    names: Sequence[str],
    options: CheckEmbedSetup,
    engine_options: EngineOptions,
    display: Display,
) -> Studies:
    """Run studies of CheckEmbed in the folder ``options.out``, which is resumed.

    Args:
        names: of :data:`~veridical_lab.studies.checkembed.options.STUDIES`.
        engine_options: models, and the LLM that writes the texts.
        display: shows the progress.

    Raises:
        UsageError: an option is unknown, invalid or missing; the folder contains another run; or no
            text was written.
        LlmError: the budget stopped it; the same call resumes.
    """
    started = time.monotonic()
    request = StudyRequest.of(names, options, engine_options)
    with Engine(engine_options) as engine:
        identity = request.identity(engine)
        run = fingerprint(identity)
        path = FOLDER / AUTO if options.out is None else Path(options.out)
        path = path.with_name(run) if path.name == AUTO else path
        with StudyFolder(path, identity):
            result = _run(request, engine, path, run, display)
            if "runtime" in request.studies:
                result.timings = timing.time_all(options, engine_options, path, display)
            result.seconds = round(time.monotonic() - started, 1)
            result.notes = notes_of(result, request.options)
            result.write(path / STORED)
    return result


def _run(request: StudyRequest, engine: Engine, path: Path, run: str, display: Display) -> Studies:
    """Run the studies in ``path``."""
    options = request.options
    endpoint = engine.llms.endpoint() if request.asks else None
    result = Studies(
        studies=list(request.studies),
        run=run,
        folder=str(path),
        created=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        version=__version__,
        cores=os.cpu_count() or 1,
        llm=None if endpoint is None else endpoint.name,
        local=endpoint is not None and endpoint.kind in ("local", "torch"),
        settings=options.settings(request.studies),
    )
    if request.asks:
        _write_and_score(result, request, engine, path, run, display)
    if "counting" in request.studies:
        _count(result, options, engine, path, display)
    result.summaries = measuring.summaries_of(result.values)
    result.separations = [
        *measuring.pair_separations(result.values),
        *(s for study in LEVELS for s in measuring.level_separations(result.values, study)),
        *result.separations,
    ]
    result.trends = [t for study in LEVELS for t in measuring.trends_of(result.values, study)]
    return result


def _write_and_score(
    result: Studies, request: StudyRequest, engine: Engine, path: Path, run: str, display: Display
) -> None:
    """Run the studies whose texts a language model writes."""
    options = request.options
    texts = write_texts(
        engine, request.asks, path, run, retry=options.retry_failed, show=display.update
    )
    result.ledger = texts.ledger
    for study in request.asks:
        written = texts.of(study)
        result.replies.append(counted(study, written))
        if study != "terms":
            made = {"pairs": records.pair_records, "errors": records.error_records}[study]
            scored = _score(made(written), request.scorers, engine, path, options, display)
            result.coverage[study] = scored.coverage
            result.reasons[study] = scored.reasons
            result.models |= scored.models
            result.values += measuring.values_of(request.asks[study], scored.scores)
        if study != "pairs":
            _add_matrices(result, study, written, request, engine, path, display)
    result.terms = measuring.term_scores(texts.of("terms"), request.chunks)


def _count(
    result: Studies, options: CheckEmbedSetup, engine: Engine, path: Path, display: Display
) -> None:
    """Add the study of counted objects, with its separations of single images."""
    display.update("drawing pictures", None, [])
    rows = counting.records_of(options)
    scored = _score(rows, resolve(counting.SCORER), engine, path, options, display)
    result.models |= scored.models
    result.values += counting.values_of(options, scored.scores)
    rows = counting.single_records(options)
    singly = _score(rows, resolve(counting.SELFCHECK), engine, path, options, display)
    result.coverage["counting"] = {**scored.coverage, **singly.coverage}
    result.reasons["counting"] = {**scored.reasons, **singly.reasons}
    singles = counting.singles_of(options, {**scored.scores, **singly.scores})
    result.separations += measuring.single_separations(*singles)


def _add_matrices(
    result: Studies,
    study: str,
    written: Sequence[Written],
    request: StudyRequest,
    engine: Engine,
    path: Path,
    display: Display,
) -> None:
    groups = {
        str(group.record().id): group for group in records.groups_of(study, written, request.chunks)
    }
    rows = [group.record() for group in groups.values()]
    scored = _score(rows, resolve(MATRICES), engine, path, request.options, display)
    result.models |= scored.models
    for name, group in groups.items():
        made = _matrices(group, scored.scores.get(name, {}))
        if made is not None:
            result.groups.append(made)


def _matrices(group: records.Replied, scores: Mapping[str, Score]) -> Group | None:
    """Compute the matrices of a group; None if its embeddings could not be computed."""
    raw = {
        key.partition("(")[0]: s.raw["matrix"]
        for key, s in scores.items()
        if s.status == "scored" and isinstance(s.raw, dict)
    }
    if "checkembed" not in raw:
        return None
    cosine = np.array(raw["checkembed"])[1:, 1:]  # its first row is the response
    size = len(group.order)
    truth = group.truth is not None
    by_measure = {"checkembed": cosine[:size, :size]}
    if "bert_score" in raw:
        by_measure["bert_score"] = np.array(raw["bert_score"])
    texts = group.texts if group.truth is None else (*group.texts, group.truth)
    by_measure["bleu"] = bleu_matrix(texts)
    by_measure["comet_style"] = comet_style(cosine, size)
    kind, topic, level = group.key
    return Group(
        study=group.study,
        kind=kind,
        topic=topic,
        level=level,
        order=group.order,
        matrices=[summarised(name, values, truth) for name, values in by_measure.items()],
    )


def _score(
    rows: list[Record],
    scorers: list[BoundScorer],
    engine: Engine,
    path: Path,
    options: CheckEmbedSetup,
    display: Display,
) -> _Scored:
    """Return scores of ``rows``, in a separate resumable run under ``path``."""
    scored = _Scored()
    if not rows:
        return scored
    job = Job(
        rows, scorers, engine=engine, out=path / "runs" / AUTO, retry_failed=options.retry_failed
    )
    try:
        results = watch(job, display)
    except BaseException:
        job.cancel()
        raise
    scored.models = dict(job.directory.manifest()["identity"].get("models", {}))
    counts: dict[str, Counter[str]] = {b.key: Counter() for b in scorers}
    reasons: Counter[str] = Counter()
    for one in results:
        asked = {key: one.scores[key] for key in counts if key in one.scores}
        scored.scores[str(one.id)] = asked
        for key, score in asked.items():
            counts[key][score.status] += 1
            if score.status == "failed":
                reasons[f"{key}: {score.reason}"] += 1
    for key, count in counts.items():
        meant = count.total() - count["not_applicable"]
        scored.coverage[key] = count["scored"] / meant if meant else 0.0
    scored.reasons = dict(reasons.most_common(5))
    return scored
