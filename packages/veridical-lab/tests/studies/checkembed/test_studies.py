"""The studies with a scripted model: what is asked, kept, measured, and what faults do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from study_scripts import CHUNKS, RULES, WRONG, studied

from veridical.core.messages import ChatRequest, LlmError
from veridical.engine.options import EngineOptions
from veridical.errors import UsageError
from veridical.llm.fake import FakeLlm, Said
from veridical.run.display import Display
from veridical_lab.studies.checkembed.options import CheckEmbedSetup
from veridical_lab.studies.checkembed.planning import plan_studies
from veridical_lab.studies.checkembed.result import STORED, Studies
from veridical_lab.studies.checkembed.running import run_studies


def scripted(name: str = "scripted") -> FakeLlm:
    def answer(request: ChatRequest) -> Said:
        text = str(request.messages)
        for rule in RULES:
            if rule["contains"] in text:
                return str(rule["text"][request.ordinal % len(rule["text"])])
        return LlmError("malformed", "no rule")

    return FakeLlm(answer, name=name)


def asked(llm: FakeLlm) -> int:
    return llm.asked.total()


@pytest.fixture
def chunks(tmp_path: Path) -> Path:
    path = tmp_path / "chunks.json"
    path.write_text(json.dumps(CHUNKS), encoding="utf-8")
    return path


def test_forced_errors_lower_similarity_and_a_second_run_asks_nothing(tmp_path: Path) -> None:
    llm = scripted()
    first = studied(["errors"], tmp_path / "run", llm)
    assert asked(llm) == 9  # 0, 1 and 5 errors, three passages each
    means = {(s.scorer, s.level): s.mean for s in first.summaries}
    for scorer in ("checkembed", "bert_score", "selfcheck_nli"):
        assert means[scorer, 0] > means[scorer, 5]
    trend = next(t for t in first.trends if t.scorer == "checkembed")
    assert trend.spearman is not None and trend.spearman < -0.7 and trend.n == 9
    assert set(first.coverage["errors"].values()) == {1.0}
    lines = (tmp_path / "run" / "texts-errors.jsonl").read_text().splitlines()
    assert len(lines) == 9 and json.loads(lines[-1])["texts"] == [WRONG[2]]

    again = studied(["errors"], tmp_path / "run", llm)
    assert asked(llm) == 9 and again.values == first.values
    stored = Studies.model_validate_json((tmp_path / "run" / STORED).read_bytes())
    assert stored.values == first.values and "first 1 topics" in stored.notes[0]


def test_passages_without_errors_are_not_measured_beside_themselves(tmp_path: Path) -> None:
    llm = scripted()
    result = studied(["errors"], tmp_path / "run", llm, scorers="checkembed")
    right = [v.value for v in result.values if v.level == 0]
    assert len(right) == 3 and max(right) < 0.999


def test_similar_pairs_are_told_from_different_ones(tmp_path: Path) -> None:
    result = studied(["pairs"], tmp_path / "run", scripted(), scorers="checkembed, bert_score")
    by_scorer = {(s.scorer, s.kind): s.auroc for s in result.separations}
    assert by_scorer["checkembed", "generic"] == 1.0
    assert {kind for _, kind in by_scorer} == {"generic", "precise", "all"}
    (replies,) = result.replies
    assert (replies.asked, replies.marked) == (12, 12)


def test_terms_and_matrices_with_their_ground_truth(tmp_path: Path, chunks: Path) -> None:
    result = studied(["terms"], tmp_path / "run", scripted(), limit=2, data=chunks)
    first, second = result.terms
    # replies 1 and 3: both terms; reply 2: Lease, and a Tenant that nobody expects
    assert first.recall == pytest.approx((1 + 0.5 + 1) / 3) and first.precision == first.recall
    assert second.expected == 0 and second.f1 is None
    groups = {g.topic: g for g in result.groups}
    assert groups["chunk 0"].order == ["reply 1", "reply 2", "reply 3", "ground truth"]
    assert groups["chunk 1"].order == ["reply 1", "reply 2", "reply 3"]
    names = [m.measure for m in groups["chunk 0"].matrices]
    assert names == ["checkembed", "bert_score", "bleu", "comet_style"]
    for matrix in groups["chunk 0"].matrices:
        assert len(matrix.values) == 4 and matrix.truth_mean is not None
        assert matrix.values[0][2] == pytest.approx(1, abs=1e-3)  # the same reply twice


def test_running_times_resume(tmp_path: Path) -> None:
    options = {"ks": "2,3", "lengths": "20,40", "scorers": "checkembed"}
    first = studied(["runtime"], tmp_path / "run", None, **options)
    assert [(t.k, t.words) for t in first.timings] == [(2, 20), (3, 20), (2, 40), (3, 40)]
    assert all(t.seconds > 0 and t.embedder == "minilm" for t in first.timings)
    log = tmp_path / "run" / "timings.jsonl"
    kept = log.read_text().splitlines()
    log.write_text("\n".join(kept[:-1]) + '\n{"half')
    again = studied(["runtime"], tmp_path / "run", None, **options)
    assert again.timings[:3] == first.timings[:3] and len(again.timings) == 4


def test_replies_of_no_use_are_counted_and_failures_are_asked_again(tmp_path: Path) -> None:
    broken = True

    def answer(request: ChatRequest) -> Said:
        text = str(request.messages)
        if "generate 5" in text:
            if request.ordinal == 0:
                return "### ERRORS ###\nonly a list"
            if request.ordinal == 1 and broken:
                return LlmError("server", "the server stumbled")
        return next(r["text"][request.ordinal] for r in RULES if r["contains"] in text)

    llm = FakeLlm(answer, name="broken")
    (replies,) = studied(["errors"], tmp_path / "run", llm, scorers="checkembed").replies
    assert (replies.marked, replies.unusable, replies.failed) == (7, 1, 1)
    assert replies.reasons == {"the server stumbled": 1}
    broken = False
    (mended,) = studied(["errors"], tmp_path / "run", llm, scorers="checkembed").replies
    assert (mended.marked, mended.unusable, mended.failed) == (8, 1, 0)


def test_a_model_that_never_answers(tmp_path: Path) -> None:
    dead = FakeLlm(lambda _: LlmError("connection", "nobody answered"))
    with pytest.raises(UsageError, match=r"no text was written; the last: nobody answered"):
        studied(["errors"], tmp_path / "run", dead)


def test_a_folder_of_another_run_is_refused(tmp_path: Path) -> None:
    studied(["errors"], tmp_path / "run", scripted(), scorers="checkembed")
    with pytest.raises(UsageError, match=r"what differs: settings.*\"n\": 3.*\"n\": 4"):
        studied(["errors"], tmp_path / "run", scripted(), scorers="checkembed", n=4)


def test_what_the_journal_holds_serves_a_larger_study(tmp_path: Path) -> None:
    llm = scripted()
    store = tmp_path / "store"
    studied(["errors"], tmp_path / "a", llm, store=store, scorers="checkembed")
    studied(["errors"], tmp_path / "b", llm, store=store, scorers="checkembed", errors="1,5,1")
    assert asked(llm) == 9


def test_the_plan_counts_what_would_be_asked(tmp_path: Path, chunks: Path) -> None:
    llm = scripted()
    options = CheckEmbedSetup(
        **{"limit": 1, "n": 3, "errors": "1,5", "about": "scientific", "data": chunks},
        **{"tokens_per_second": 100.0, "max_tokens": 64},
    )
    engine = EngineOptions(llm=llm, store=tmp_path / "store")
    planned = plan_studies(["errors", "pairs", "terms"], options, engine)
    counts = {s["study"]: (s["calls"], s["records"]) for s in planned["studies"]}
    assert counts == {"pairs": (12, 12), "errors": (9, 12), "terms": (3, 1)}
    assert asked(llm) == 0 and not (tmp_path / "store").exists()
    assert planned["calls"] == 24 and planned["tokens_out"] == 24 * 64
    assert planned["hours"] > 24 * 64 / 100 / 3600  # writing alone

    run_studies(
        ["errors"],
        CheckEmbedSetup(
            **{"limit": 1, "n": 3, "errors": "1,5", "about": "scientific", "max_tokens": 64},
            **{"out": tmp_path / "run", "scorers": "cosine"},
        ),
        engine,
        Display(Console(quiet=True)),
    )
    after = plan_studies(
        ["errors"], CheckEmbedSetup(limit=1, n=3, errors="1,5", max_tokens=64), engine
    )
    assert after["studies"][0]["journaled"] == 9
    assert after["hours"] is None  # nobody knows how fast a scripted model writes


@pytest.mark.parametrize(
    ("names", "options", "why"),
    [
        ([], {}, "name a study: pairs"),
        (["pears"], {}, "did you mean 'pairs'"),
        (["pairs", "pairs"], {}, "is given twice"),
        (["terms"], {}, "needs data"),
        (["pairs"], {"data": "x.json"}, "data requires the study 'terms'"),
        (["errors"], {"ks": "2,3"}, "ks requires the study 'runtime'"),
        (["terms"], {"scorers": "cosine"}, "scorers requires the study 'pairs' or 'errors'"),
        (["errors"], {"about": "medical"}, "unknown subject 'medical'"),
        (["errors"], {"errors": "0:3"}, "errors: whole numbers from 1 to 10"),
        (["errors"], {"errors": "some"}, "errors takes whole numbers"),
        (["errors"], {"n": 2}, "n must be at least 3"),
        (["errors"], {"scorers": "checkembd"}, "did you mean 'checkembed'"),
        (["runtime"], {"ks": "1,2"}, "at least 2 samples"),
        (["counting"], {"scorers": "cosine"}, "scorers requires the study"),
        (["counting"], {"about": "legal"}, "about requires the study 'errors'"),
        (["counting"], {"n": 2}, "n must be at least 3"),
        (["runtime"], {"scorers": "judge"}, "asks a language model"),
        (["errors"], {"tokens_per_second": 0.0}, "must be above 0"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    tmp_path: Path, names: list[str], options: dict[str, Any], why: str
) -> None:
    llm = scripted()
    only = None if names in (["runtime"], ["counting"]) else llm
    with pytest.raises(UsageError) as caught:
        studied(names, tmp_path / "run", only, **options)
    assert why in str(caught.value)
    assert asked(llm) == 0 and not (tmp_path / "run").exists()


def test_texts_need_a_model(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a language model writes the texts"):
        studied(["pairs"], tmp_path / "run", None)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("[]", "whose 'data' is a list of chunks"),
        ("{", "is no JSON"),
        ('{"data": [{"chunk_txt": 3}]}', "chunk 0: 'chunk_txt' must be a text"),
        ('{"data": [{"chunk_txt": " "}]}', "chunk 0: 'chunk_txt' is empty"),
        (
            '{"data": [{"chunk_txt": "a", "definitions": [{"term": "b"}]}]}',
            "chunk 0, definition 0: 'context' must be a text",
        ),
    ],
)
def test_a_file_of_no_chunks_is_refused(tmp_path: Path, content: str, why: str) -> None:
    path = tmp_path / "chunks.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        studied(["terms"], tmp_path / "run", scripted(), data=path)
    assert why in str(caught.value)


@pytest.mark.data
def test_the_papers_own_chunks_are_read(shared_data: Path, tmp_path: Path) -> None:
    from veridical_lab.studies.checkembed.asks import read_chunks

    found = read_chunks(shared_data / "checkembed" / "legal_definitions.json")
    assert len(found) == 23 and found[0].terms == (
        "Agreement",
        "Company",
        "Purchaser",
        "Purchasers",
    )


@pytest.mark.local
def test_a_model_that_runs_here_writes_the_texts(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    options = CheckEmbedSetup(
        limit=1,
        n=3,
        errors="1",
        about="scientific",
        max_tokens=24,
        scorers="checkembed",
        out=tmp_path / "run",
    )
    engine = EngineOptions(llm="local:smollm2", store=None)
    result = run_studies(["errors"], options, engine, Display(Console(quiet=True)))
    assert result.local and result.replies[0].asked == 6
    assert "a small model that runs here (local)" in " ".join(result.notes)
