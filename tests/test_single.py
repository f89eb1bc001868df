"""``check_one``: one answer, as ``check`` would score it, from any thread, loop or process."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import veridical
from veridical import Context, Engine, Sample, UsageError, single
from veridical.core.options import names_of
from veridical.engine.warm import WarmEngines
from veridical.llm.fake import FakeLlm
from veridical.run.options import RunOptions
from veridical.single import OF_MANY, OneKeywords, acheck_one, check_one

SOURCE = "Canberra is the capital of Australia. Sydney is its largest city."
RECORD: dict[str, Any] = {
    "response": "Canberra is the capital. It lies in Spain.",
    "question": "What is the capital of Australia?",
    "contexts": [SOURCE],
    "samples": ["Canberra.", "Canberra is the capital."],
    "reference": "Canberra",
}


@pytest.fixture(autouse=True, scope="module")
def _engines() -> Iterator[None]:
    """Warm engines that end with these tests."""
    engines = WarmEngines()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(single, "_engines", engines)
        yield
    engines.close()


@pytest.mark.parametrize("scorers", [None, "claims", "cosine, ngram(n=2)", ["exact_match"]])
def test_it_is_what_check_says_of_the_record(scorers: Any) -> None:
    alone = check_one(**RECORD, scorers=scorers)
    (among,) = veridical.check([RECORD], scorers)
    assert alone.verdict == among.verdict and alone.scores.keys() == among.scores.keys()
    assert alone.risk == pytest.approx(among.risk, abs=1e-5)
    assert alone.explain() == among.explain() and len(alone.spans) == len(among.spans)


def test_arguments_have_the_shapes_of_records() -> None:
    texts = check_one("It is so.", contexts="It is so.", samples="So.", scorers="support, ngram")
    objects = check_one(
        "It is so.",
        contexts=(Context(text="It is so."),),
        samples=({"text": "So."},),
        question=[{"role": "user", "content": "Is it?"}],
        scorers="support, ngram",
    )
    assert objects == texts
    assert check_one("a", samples=[Sample(text="a")], scorers="exact_match").risk == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"response": 3}, "response must be text, got 3"),
        ({"response": None}, "response is null"),
        ({"response": "a\x00"}, "response NUL character"),
        ({"contexts": [3]}, "contexts[0] must be text or an object with 'text', got 3"),
        ({"contexts": {"a": 1}}, "contexts[0].text is missing"),
        ({"samples": 3}, "samples must be text or a list"),
        ({"question": 4}, "question must be text or a list of chat messages"),
        ({"reference": [["x"]]}, "reference[0] must be text"),
        ({"smaples": 3}, "unknown option 'smaples'"),
        ({"preset": "quick"}, "preset 'quick'"),
        ({"scorers": "nonsense"}, "nonsense"),
        ({"scorers": 4}, "scorers must be a string or a list"),
        ({"engine": "warm"}, "engine must be an Engine"),
    ],
)
def test_what_does_not_fit_is_named(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        check_one(**{"response": "a", **arguments})
    assert said in str(refused.value)


@pytest.mark.parametrize("name", sorted(OF_MANY))
def test_options_of_many_answers_are_refused(name: str) -> None:
    options: Any = {name: 3}
    with pytest.raises(UsageError, match=f"check_one has no option '{name}'"):
        check_one("a", **options)


def test_every_option_of_a_run_is_one_or_refused() -> None:
    options = {*names_of(RunOptions)} - OF_MANY - {"samples"}
    assert options <= {*OneKeywords.__annotations__}


def test_it_works_inside_a_running_loop() -> None:
    async def notebook_cell() -> tuple[Any, Any, list[Any]]:
        waiting = asyncio.create_task(asyncio.sleep(0))
        blocking = check_one("Canberra.", contexts=SOURCE, scorers="support")
        many = [acheck_one(f"{n}.", contexts=SOURCE, scorers="support") for n in range(30)]
        results = await asyncio.gather(*many)
        await waiting
        whole = veridical.check([{"response": "Canberra.", "contexts": SOURCE}], "support")
        return blocking, whole[0], results

    for _ in range(2):  # a second loop uses the same engine
        blocking, whole, results = asyncio.run(notebook_cell())
        assert blocking.risk == whole.risk == 0
        assert all(r.risk is not None for r in results)
    assert len(single._engines) >= 1


def test_threads_share_an_engine_and_get_their_own_results() -> None:
    answers = [f"Canberra has {n} streets." for n in range(40)]
    before = len(single._engines)
    with ThreadPoolExecutor(8) as pool:
        results = list(
            pool.map(lambda a: check_one(a, contexts=SOURCE, scorers="claims", threads=1), answers)
        )
    assert [r.spans[0].text for r in results] == answers
    assert len(single._engines) <= before + 1


def test_cancelling_lets_the_engine_go_on() -> None:
    async def work() -> Any:
        under_way = asyncio.create_task(acheck_one(**RECORD))
        await asyncio.sleep(0)
        under_way.cancel()
        with pytest.raises(asyncio.CancelledError):
            await under_way
        return await acheck_one(**RECORD, scorers="cosine")

    assert asyncio.run(work()).risk is not None


def test_an_engine_of_ones_own() -> None:
    before = len(single._engines)
    with Engine(store=None) as engine:
        assert check_one(**RECORD, scorers="cosine", engine=engine).risk is not None
        with pytest.raises(UsageError, match="cannot be combined with engine="):
            check_one(**RECORD, engine=engine, nli="other")
    assert len(single._engines) == before
    with pytest.raises(UsageError, match="closed"):
        check_one(**RECORD, engine=engine)


def test_a_policy_decides(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text("accept = 0.2\nreject = 0.9\n")
    result = check_one("a", samples=["b"], scorers="exact_match", policy=policy)
    assert (result.decision, result.why) == ("reject", ("risk at least 0.9",))
    assert (
        asyncio.run(
            acheck_one("a", samples=["a"], scorers="exact_match", policy=str(policy))
        ).decision
        == "accept"
    )


def test_steps_and_documents_that_need_a_folder(tmp_path: Path) -> None:
    (tmp_path / "australia.txt").write_text(SOURCE)
    result = check_one("Canberra is the capital of Australia.", corpus=tmp_path, scorers="support")
    assert result.risk == 0 and result.worst is not None
    best = check_one("In Chad.", samples=["In Mali."] * 3, scorers="exact_match", select="best")
    assert best.selected is not None and best.selected.text == "In Mali."
    assert (
        asyncio.run(
            acheck_one("In Chad.", samples=["In Mali."] * 3, scorers="exact_match", select="best")
        ).selected
        == best.selected
    )


def test_an_llm_is_asked_and_its_replies_are_kept_in_the_store(tmp_path: Path) -> None:
    llm = FakeLlm("correct")
    for store in (None, tmp_path / "s", tmp_path / "s"):
        result = check_one(**RECORD, scorers="judge", llm=llm, store=store)
        assert result.scores["judge"].status == "scored", result.scores["judge"].reason
    assert sum(llm.asked.values()) == 2  # the third call found the second's replies
    with pytest.raises(UsageError, match="no LLM is named"):
        check_one(**RECORD, scorers="judge")


def run(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_script_ends_cleanly_with_engines_warm(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        "import veridical\n"
        "r = veridical.check_one('In Mali.', samples=['In Mali.'], scorers='cosine')\n"
        "print(r.verdict, r.risk < 0.01)\n",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "consistent True\n", "")
    assert (tmp_path / ".veridical" / "store").is_dir()


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_a_forked_process_has_an_engine_of_its_own(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        "import os, signal, veridical\n"
        "def risk():\n"
        "    return veridical.check_one('In Mali.', samples=['In Chad.'], scorers='cosine').risk\n"
        "here = risk()\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    signal.alarm(60)\n"
        "    os._exit(0 if abs(risk() - here) < 1e-5 else 1)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "assert risk() == here\n",
    )
    assert done.returncode == 0, done.stderr


def test_importing_it_starts_nothing() -> None:
    code = "import threading, veridical.single; print(threading.active_count())"
    assert run(Path.cwd(), code).stdout == "1\n"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"context": "x"}, "check_one has no option 'context'; did you mean contexts?"),
        ({"documents": ["x"]}, "check_one has no option 'documents'; did you mean contexts?"),
        ({"prompt": "x"}, "check_one has no option 'prompt'; did you mean question?"),
        ({"prior": 3}, "prior must be between 0 and 1, not 3"),
        ({"prior": 0}, "prior must be between 0 and 1, not 0"),
    ],
)
def test_an_option_that_is_meant_otherwise_is_named(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)):
        veridical.check_one("It is open.", **options)
