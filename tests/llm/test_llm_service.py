"""The service: each distinct call once, written down, within the budget, in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from faults import FaultServer, InProcess

from veridical.errors import UsageError
from veridical.llm.client import LlmClient
from veridical.llm.counts import CALLER
from veridical.llm.endpoints import Endpoint
from veridical.llm.journal import Journal
from veridical.llm.ledger import Budget, worst_case
from veridical.llm.messages import ChatRequest, LlmError, Reply, Usage, user
from veridical.llm.service import Account, LlmService

PRICED = Endpoint("e", "http://h/v1", "m", price_in=0.0, price_out=1e6, max_concurrency=4)


class Client:
    """Says ``text.ordinal``; keeps what it was asked for in one go, and how many at once."""

    def __init__(
        self, answer: Callable[[ChatRequest, int], Reply | LlmError] | None = None
    ) -> None:
        self.answer = answer or (lambda r, i: Reply(f"{text(r)}.{i}", "stop", usage=Usage(10, 1)))
        self.asked: list[tuple[str, tuple[int, ...]]] = []
        self.at_once = self.most = 0
        self.go = asyncio.Event()
        self.go.set()
        self.closed = False

    async def chat(
        self, request: ChatRequest, ordinals: Sequence[int] = (0,)
    ) -> list[Reply | LlmError]:
        self.asked.append((text(request), tuple(ordinals)))
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await self.go.wait()
        await asyncio.sleep(0)
        self.at_once -= 1
        return [self.answer(request, i) for i in ordinals]

    async def close(self) -> None:
        self.closed = True


def text(request: ChatRequest) -> str:
    content: str = request.messages[-1]["content"]
    return content


def ask(question: str, ordinal: int = 0, **options: object) -> ChatRequest:
    return replace(ChatRequest(user(question), ordinal=ordinal), **options)  # type: ignore[arg-type]


async def test_replies_are_in_the_order_of_the_requests() -> None:
    client = Client()
    service = LlmService(PRICED, client=client)
    requests = [ask(q, i) for i in (1, 0) for q in "cab"]
    replies = await service.chat(requests)
    assert [r.text for r in replies] == [f"{q}.{i}" for i in (1, 0) for q in "cab"]
    await service.close()
    assert client.closed


async def test_requests_that_differ_only_in_their_ordinal_go_out_together() -> None:
    client = Client()
    service = LlmService(PRICED, client=client)
    messages = user("q")
    drawn = [ChatRequest(messages, temperature=1.0, ordinal=i) for i in range(5)]
    await service.chat([ChatRequest(messages), *drawn])
    assert client.asked == [("q", (0,)), ("q", (0, 1, 2, 3, 4))]
    assert service.ledger.calls == 6
    await service.close()


async def test_equal_requests_under_way_are_sent_once() -> None:
    client = Client()
    client.go.clear()
    service = LlmService(PRICED, client=client)
    askers = [asyncio.create_task(service.chat([ask("q"), ask("q")])) for _ in range(3)]
    await asyncio.sleep(0.05)
    askers[0].cancel()  # the others still get theirs
    await asyncio.sleep(0)
    client.go.set()
    for asker in askers[1:]:
        assert [r.text for r in await asker] == ["q.0", "q.0"]
    assert client.asked == [("q", (0,))]
    assert (service.ledger.calls, service.ledger.shared) == (1, 2)
    await service.close()


async def test_what_the_journal_holds_is_not_asked_again(tmp_path: Path) -> None:
    for life in range(2):
        client = Client()
        journal = Journal(tmp_path / "j.sqlite")
        account = Account(journal, "run")
        service = LlmService(PRICED, account, client=client)
        replies = await service.chat([ask("a"), ask("b", 7)])
        assert [r.text for r in replies] == ["a.0", "b.7"]
        assert len(client.asked) == (0 if life else 2)
        assert account.ledger.journaled == (2 if life else 0)
        assert (account.ledger.calls, account.ledger.cost) == (2, 2.0)  # over both lives
        await service.close()
        journal.close()


async def test_errors_are_values_or_raised_and_never_journaled() -> None:
    lost = LlmError("timeout", "too late", possibly_paid=3)
    client = Client(lambda r, i: lost if text(r) == "bad" else Reply(text(r)))
    service = LlmService(PRICED, client=client)
    found = await service.chat_each([ask("a"), ask("bad"), ask("b")])
    assert [r.text if isinstance(r, Reply) else r.trouble for r in found] == ["a", "timeout", "b"]
    with pytest.raises(LlmError, match="too late") as caught:
        await service.chat([ask("a"), ask("bad")])
    assert (caught.value.trouble, caught.value.possibly_paid) == ("timeout", 3)
    ledger = service.ledger
    assert (ledger.calls, ledger.answered, ledger.failed) == (4, 2, 2)
    assert (ledger.possibly_paid, ledger.journaled) == (6, 1)
    assert (ledger.tokens, ledger.cost) == (None, None)  # the replies came without usage
    await service.close()


async def test_losses_on_the_way_to_an_answer_are_possibly_paid_too(tmp_path: Path) -> None:
    class Losing(Client):
        async def chat(
            self, request: ChatRequest, ordinals: Sequence[int] = (0,)
        ) -> list[Reply | LlmError]:
            counts = CALLER.get()
            assert counts is not None
            counts.retries += 2
            counts.possibly_paid += 1
            return await super().chat(request, ordinals)

    journal = Journal(tmp_path / "j.sqlite")
    account = Account(journal, "run")
    service = LlmService(PRICED, account, client=Losing())
    await service.chat([ask(str(i)) for i in range(10)])
    assert (account.ledger.retries, account.ledger.possibly_paid) == (20, 10)
    assert journal.totals("run").possibly_paid == 10
    await service.close()
    journal.close()


async def test_a_reply_of_no_use_is_asked_for_anew_only_by_those_who_retry(
    tmp_path: Path,
) -> None:
    client = Client()
    client.answer = lambda r, i: Reply(f"{text(r)} {[q for q, _ in client.asked].count(text(r))}")
    journal = Journal(tmp_path / "j.sqlite")
    service = LlmService(PRICED, Account(journal), client=client)
    assert (await service.chat([ask("a"), ask("b")]))[0].text == "a 1"
    await service.reject(ask("a"))
    assert (await service.chat([ask("a")]))[0].text == "a 1"
    again = Account(journal, retry=True)
    replies = await service.chat([ask("a"), ask("b")], again)
    assert [r.text for r in replies] == ["a 2", "b 1"]
    assert (await service.chat([ask("a")], again))[0].text == "a 2"  # not of no use, so far
    assert (await service.chat([ask("a")]))[0].text == "a 2"
    await service.close()
    journal.close()


async def test_no_more_calls_are_let_out_than_the_endpoint_takes() -> None:
    client = Client()
    service = LlmService(PRICED, client=client)
    await service.chat([ask(str(i)) for i in range(50)])
    assert client.most == 4
    await service.close()


async def test_the_budget_stops_before_the_call() -> None:
    client = Client()
    budget = Budget(3.5)  # an answer costs 1, and 1 at worst
    account = Account(Journal(None), budget=budget)
    service = LlmService(PRICED, account, client=client)
    found = await service.chat_each([ask(str(i), max_tokens=1) for i in range(10)])
    troubles = [o.trouble for o in found if isinstance(o, LlmError)]
    assert troubles == ["budget"] * 7
    assert len(client.asked) == 3
    assert (account.ledger.cost, account.ledger.not_sent, budget.spent) == (3.0, 7, 3.0)
    await service.close()
    account.journal.close()


async def test_a_call_waits_for_money_that_is_only_held_back() -> None:
    """One answer may cost 5, and costs 1: with 9 to spend there is one at a time, then none."""
    client = Client()
    account = Account(Journal(None), budget=Budget(9.0))
    service = LlmService(PRICED, account, client=client)
    found = await service.chat_each([ask(str(i), max_tokens=5) for i in range(20)])
    assert client.most == 1
    assert sum(isinstance(o, Reply) for o in found) == 5  # the sixth might have made it 10
    assert account.ledger.cost == 5.0
    await service.close()
    account.journal.close()


async def test_as_many_samples_are_drawn_as_fit_the_budget() -> None:
    client = Client()
    account = Account(Journal(None), budget=Budget(2.0))
    service = LlmService(PRICED, account, client=client)
    messages = user("q")
    drawn = [ChatRequest(messages, max_tokens=1, ordinal=i) for i in range(5)]
    found = await service.chat_each(drawn)
    assert [isinstance(o, Reply) for o in found] == [True, True, False, False, False]
    assert client.asked == [("q", (0, 1))]
    await service.close()
    account.journal.close()


async def test_what_is_lost_and_what_is_uncounted_is_charged_at_worst() -> None:
    outcomes: dict[str, Reply | LlmError] = {
        "lost": LlmError("timeout", "x", possibly_paid=1),
        "uncounted": Reply("x"),
    }
    client = Client(lambda r, i: outcomes[text(r)])
    budget = Budget(100.0)
    account = Account(Journal(None), budget=budget)
    service = LlmService(PRICED, account, client=client)
    await service.chat_each([ask("lost", max_tokens=7), ask("uncounted", max_tokens=5)])
    assert budget.spent == 12.0
    assert account.ledger.cost is None
    await service.close()
    account.journal.close()


async def test_a_budget_covers_what_earlier_lives_of_the_run_have_spent(tmp_path: Path) -> None:
    for questions, sent in (("ab", 2), ("cd", 1)):
        client = Client()
        journal = Journal(tmp_path / "j.sqlite")
        account = Account(journal, "run", budget=Budget(3.0))
        service = LlmService(PRICED, account, client=client)
        await service.chat_each([ask(q, max_tokens=1) for q in questions])
        assert len(client.asked) == sent
        await service.close()
        journal.close()


async def test_calls_that_are_cut_off_are_possibly_paid(tmp_path: Path) -> None:
    client = Client()
    client.go.clear()
    journal = Journal(tmp_path / "j.sqlite")
    account = Account(journal, "run")
    service = LlmService(PRICED, account, client=client)
    asker = asyncio.create_task(service.chat([ask(str(i)) for i in range(3)]))
    while len(client.asked) < 3:
        await asyncio.sleep(0.001)
    await service.close()
    with pytest.raises(asyncio.CancelledError):
        await asker
    assert account.ledger.possibly_paid == 3
    assert journal.totals("run").possibly_paid == 3
    journal.close()


async def test_what_makes_no_call_possible_is_raised() -> None:
    class Keyless(Client):
        async def chat(
            self, request: ChatRequest, ordinals: Sequence[int] = (0,)
        ) -> list[Reply | LlmError]:
            raise UsageError("no key")

    service = LlmService(PRICED, client=Keyless())
    with pytest.raises(UsageError, match="no key"):
        await service.chat([ask("a")])
    with pytest.raises(UsageError, match="no key"):  # and does not stay under way for ever
        await service.chat([ask("a")])
    await service.close()


def test_the_worst_case_is_a_token_a_byte_and_the_longest_answer() -> None:
    endpoint = Endpoint("e", "http://h/v1", "m", price_in=1e6, price_out=1.0)
    short, long = (worst_case(endpoint, ask("é" * n, max_tokens=1)) for n in (10, 20))
    assert long - short == pytest.approx(20)
    assert worst_case(endpoint, ask("", max_tokens=None)) > worst_case(endpoint, ask(""))
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    seen = ChatRequest(({"role": "user", "content": [image]},), max_tokens=1)
    assert worst_case(endpoint, seen) > 1000
    with pytest.raises(UsageError, match="price_in"):
        worst_case(Endpoint("e", "http://h/v1", "m"), ask("a"))


@pytest.mark.parametrize("limit", [-1.0, float("nan"), float("inf")])
def test_a_budget_is_a_sum_of_money(limit: float) -> None:
    with pytest.raises(UsageError, match="budget"):
        Budget(limit)


async def test_samples_that_come_one_by_one_are_written_down_one_by_one(tmp_path: Path) -> None:
    """A process killed among them has all that had come."""
    late = asyncio.Event()

    class Late(Client):
        one_by_one = True

        async def chat(
            self, request: ChatRequest, ordinals: Sequence[int] = (0,)
        ) -> list[Reply | LlmError]:
            if 2 in ordinals:
                await late.wait()
            return await super().chat(request, ordinals)

    journal = Journal(tmp_path / "j.sqlite")
    service = LlmService(PRICED, Account(journal, "run"), client=Late())
    asker = asyncio.create_task(service.chat([ask("q", i) for i in range(3)]))
    while journal.totals("run").answered < 2:
        await asyncio.sleep(0.01)
    await service.close()  # cuts the third off
    with pytest.raises(asyncio.CancelledError):
        await asker
    totals = journal.totals("run")
    assert (totals.calls, totals.answered, totals.possibly_paid) == (3, 2, 1)
    journal.close()


async def test_one_who_looks_while_another_asks_does_not_ask_again() -> None:
    """However their looks into the journal and their calls overlap."""
    client = Client()
    service = LlmService(PRICED, client=client)

    async def asker(wait: int) -> str:
        for _ in range(wait):
            await asyncio.sleep(0)
        (reply,) = await service.chat([ask("q")])
        return reply.text

    said = await asyncio.gather(*(asker(i % 40) for i in range(400)))
    assert set(said) == {"q.0"} and client.asked == [("q", (0,))]
    ledger = service.ledger
    assert (ledger.calls, ledger.shared + ledger.journaled) == (1, 399)
    await service.close()


async def test_a_call_that_cannot_be_made_leaves_the_others_to_be_written_down() -> None:
    """And none of them is left at work when the service is closed."""
    client = Client()
    client.go.clear()

    def answer(request: ChatRequest, ordinal: int) -> Reply:
        if text(request) == "bad":
            raise UsageError("not like this")
        return Reply("good", "stop")

    client.answer = answer
    service = LlmService(PRICED, client=client)
    asker = asyncio.create_task(service.chat([ask("good"), ask("bad")]))
    await asyncio.sleep(0.05)
    client.go.set()
    with pytest.raises(UsageError, match="not like this"):
        await asker
    assert [r.text for r in await service.chat([ask("good")])] == ["good"]
    assert service.ledger.journaled == 1
    client.go.clear()
    asker = asyncio.create_task(service.chat([ask("more"), ask("bad")]))
    await asyncio.sleep(0.05)
    await service.close()
    with pytest.raises((asyncio.CancelledError, UsageError)):
        await asker
    assert len(asyncio.all_tasks()) == 1


async def test_a_budget_counts_a_run_once_however_often_it_is_taken_up(tmp_path: Path) -> None:
    budget = Budget(100.0)
    journal = Journal(tmp_path / "j.sqlite")
    for _ in range(3):
        service = LlmService(PRICED, Account(journal, "run", budget=budget), client=Client())
        await service.chat([ask("q", max_tokens=2), ask("r", max_tokens=2)])
        assert budget.spent == 2.0
        await service.close()
    journal.close()


async def test_what_waits_for_its_turn_is_not_on_record_as_sent() -> None:
    server = FaultServer(lambda i: "hang")
    one = replace(PRICED, max_concurrency=1)
    client = LlmClient(one, http=httpx.AsyncClient(transport=InProcess(server)))
    service = LlmService(one, client=client)
    asker = asyncio.create_task(service.chat([ask(q) for q in "abc"]))
    while not server.calls:
        await asyncio.sleep(0.01)
    totals = service.account.journal.totals("")
    assert (totals.calls, totals.possibly_paid, service.ledger.calls) == (1, 1, 1)
    ledger = service.ledger
    await service.close()
    assert (ledger.calls, ledger.possibly_paid, server.calls) == (1, 1, 1)
    with pytest.raises(asyncio.CancelledError):
        await asker
