"""The service: each distinct call once, written down, within the budget, in order."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from faults import FaultServer, InProcess

from veridical.cli.finish import ledger_lines
from veridical.core.messages import ChatRequest, LlmError, Reply, Usage, user
from veridical.errors import UsageError
from veridical.llm import retries
from veridical.llm.budget import Budget, worst_case
from veridical.llm.client import LlmClient
from veridical.llm.cost_accounting import ACCOUNTING, Account
from veridical.llm.endpoints import Endpoint
from veridical.llm.journal import Journal
from veridical.llm.service import LlmService

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


async def test_a_client_whose_server_keeps_what_it_read_has_prompts_that_begin_alike_in_turn() -> (
    None
):
    client = Client(lambda r, i: Reply("x", "stop", usage=Usage(100, 1, 90)))
    client.shares_prefixes = True
    service = LlmService(PRICED, client=client)
    texts = [f"{c * 100} sentence {s}" for s in range(4) for c in "ab"]
    requests = [ChatRequest(user(t), max_tokens=1) for t in texts]
    await service.chat([replace(r, again=r is requests[0]) for r in requests])
    assert client.most == 1
    assert [text[0] for text, _ in client.asked] == ["a"] * 4 + ["b"] * 4
    ledger = service.ledger
    assert (ledger.calls, ledger.tokens_in, ledger.tokens_cached, ledger.again) == (8, 800, 720, 1)
    (line,) = ledger_lines(ledger.as_dict())
    assert "800 tokens in (80 read, 720 saved by shared prefixes), 8 out" in line
    assert "1 asked again" in line
    await service.close()


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
        accounts_attempts = True

        async def chat(
            self, request: ChatRequest, ordinals: Sequence[int] = (0,)
        ) -> list[Reply | LlmError]:
            accounting = ACCOUNTING.get()
            for again in (False, True, True):
                reservation = await accounting.reserve(1, again=again)
                await reservation.leave()
                if again:
                    await reservation.refused()
                reservation.close()
            reservation = await accounting.reserve(1, again=False)
            await reservation.leave()
            reservation.answered([Usage(10, 1)])
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


async def test_a_budget_within_another() -> None:
    whole = Budget(3.0)
    one, other = Budget(2.0, whole), Budget(2.0, whole)
    assert await one.reserve(1.0, 3) == 2  # fitting in its own
    waiting = asyncio.ensure_future(other.reserve(1.0, 2))
    await asyncio.sleep(0)
    assert not waiting.done(), "what is held back in the whole may come free again"
    one.settle(2.0, 2.0)
    assert await waiting == 1
    assert other.short_of(1.5) is whole and one.short_of(0.5) is one
    other.settle(1.0, 0.5)
    assert (whole.spent, one.spent, other.spent) == (2.5, 2.0, 0.5)
    # nothing stays held back by who was given up while it waited
    blocked = asyncio.ensure_future(other.reserve(0.5, 1))
    assert await blocked == 1
    given_up = asyncio.ensure_future(other.reserve(0.5, 2))
    await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.wait({given_up})
    assert given_up.cancelled()
    other.settle(0.5, 0.0)
    assert await other.reserve(0.5, 1) == 1


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


def budgeted(
    fault: Callable[[int], str | None], limit: float, **settings: object
) -> tuple[list[Reply | LlmError], FaultServer, Budget, Account]:
    """Three answers of 10 money each at most, from a server with faults."""

    async def main() -> tuple[list[Reply | LlmError], FaultServer, Budget, Account]:
        server = FaultServer(fault, latency=0.0)
        endpoint = replace(PRICED, **settings)  # type: ignore[arg-type]
        client = LlmClient(endpoint, http=httpx.AsyncClient(transport=InProcess(server)))
        budget = Budget(limit)
        account = Account(Journal(None), "run", budget=budget)
        service = LlmService(endpoint, account, client=client)
        found = await service.chat_each([ask(q, max_tokens=10) for q in "abc"])
        await service.close()
        totals = account.journal.totals("run")
        assert (totals.charged, totals.possibly_paid) == (
            account.ledger.charged,
            account.ledger.possibly_paid,
        )
        assert budget.spent == pytest.approx(account.ledger.charged)
        account.journal.close()
        return found, server, budget, account

    with pytest.MonkeyPatch.context() as patch:  # the journal's thread has no virtual time
        patch.setattr(retries, "_FIRST_BACKOFF", 0.01)
        return asyncio.run(main())


def test_every_attempt_is_reserved_before_it_leaves() -> None:
    found, server, budget, account = budgeted(lambda i: "not json", 45.0)
    assert server.calls == 4 and budget.spent == 40.0
    troubles = [o.trouble for o in found if isinstance(o, LlmError)]
    assert troubles == ["budget"] * 3
    assert all("40.0000 of the budget of 45 is spent" in str(o) for o in found)
    assert any("after" in str(o) and "the reply is not JSON" in str(o) for o in found)
    paid = sum(o.possibly_paid for o in found if isinstance(o, LlmError))
    assert paid == account.ledger.possibly_paid == 4
    assert account.ledger.not_sent == 3 and account.ledger.as_dict()["charged"] == 40.0


def test_what_a_server_turns_away_costs_nothing() -> None:
    found, server, budget, account = budgeted(lambda i: "429" if i < 9 else None, 30.0)
    assert all(isinstance(o, Reply) for o in found)
    assert (server.calls, budget.spent) == (12, 9.0)  # three tokens each
    assert account.ledger.possibly_paid == 0


def test_an_error_of_a_server_that_may_have_worked_is_charged() -> None:
    for fault in ("500", "502", "error under 200", "disconnect"):
        found, server, budget, _ = budgeted(lambda i, f=fault: f, 45.0, attempts=2)  # type: ignore[misc]
        assert (server.calls, budget.spent) == (4, 40.0)
        assert all(isinstance(o, LlmError) for o in found)


async def test_earlier_lives_of_unknown_cost_leave_no_budget(tmp_path: Path) -> None:
    unpriced = Endpoint("e", "http://h/v1", "m")
    journal = Journal(tmp_path / "j.sqlite")
    service = LlmService(unpriced, Account(journal, "run"), client=Client())
    await service.chat([ask("a")])
    await service.close()
    assert service.ledger.as_dict()["charged"] is None
    with pytest.raises(
        UsageError, match="the budget cannot be kept: earlier sessions made 1 attempts"
    ):
        Account(journal, "run", budget=Budget(100.0))
    assert Account(journal, "run").ledger.unpriced == 1
    journal.close()


async def test_unknown_costs_stay_charged_in_later_lives(tmp_path: Path) -> None:
    for life in range(3):
        client = Client(lambda r, i: Reply("x"))  # no count
        journal = Journal(tmp_path / "j.sqlite")
        account = Account(journal, "run", budget=Budget(25.0))
        service = LlmService(PRICED, account, client=client)
        await service.chat_each([ask(f"{life}{q}", max_tokens=10) for q in "abc"])
        assert len(client.asked) == (0 if life else 2)
        assert account.ledger.charged == 20.0
        await service.close()
        journal.close()


async def test_a_damaged_reply_is_counted_once_and_asked_again(tmp_path: Path) -> None:
    for life in range(3):
        client = Client()
        journal = Journal(tmp_path / "j.sqlite")
        account = Account(journal, "run")
        service = LlmService(PRICED, account, client=client)
        assert [r.text for r in await service.chat([ask("a"), ask("b")])] == ["a.0", "b.0"]
        assert len(client.asked) == (2, 1, 0)[life]
        assert account.ledger.damaged == (0, 1, 0)[life]
        await service.close()
        journal.close()
        if not life:
            with sqlite3.connect(tmp_path / "j.sqlite") as db:
                db.execute("UPDATE replies SET body = CAST(replace(body, 'a.0', 'evil') AS BLOB)")
            db.close()


async def test_two_processes_ask_for_a_reply_once(tmp_path: Path) -> None:
    """Or one, through two journals."""
    clients = [Client(), Client()]
    clients[0].go.clear()
    services = [
        LlmService(PRICED, Account(Journal(tmp_path / "j.sqlite"), f"{i}"), client=client)
        for i, client in enumerate(clients)
    ]
    asked = [asyncio.create_task(services[0].chat([ask("a"), ask("b")]))]
    while len(clients[0].asked) < 2:
        await asyncio.sleep(0.001)
    asked.append(asyncio.create_task(services[1].chat([ask("b"), ask("c")])))
    while not clients[1].asked:
        await asyncio.sleep(0.001)
    clients[0].go.set()
    assert [[r.text for r in await task] for task in asked] == [["a.0", "b.0"], ["b.0", "c.0"]]
    assert [q for q, _ in clients[1].asked] == ["c"]
    assert services[1].ledger.journaled == 1
    for service in services:
        await service.close()
        service.account.journal.close()


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


def worst(endpoint: Endpoint, request: ChatRequest) -> float:
    found = worst_case(endpoint, request)
    assert found is not None
    return found


def test_the_worst_case_is_a_token_a_byte_and_the_longest_answer() -> None:
    endpoint = Endpoint("e", "http://h/v1", "m", price_in=1e6, price_out=1.0)
    short, long = (worst(endpoint, ask("é" * n, max_tokens=1)) for n in (10, 20))
    assert long - short == pytest.approx(20)
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    seen = ChatRequest(({"role": "user", "content": [image]},), max_tokens=1)
    assert worst(endpoint, seen) > 48_169
    schema = {"type": "object", "properties": {"x" * 1000: {}}}
    assert worst(endpoint, ask("q", schema=schema)) > worst(endpoint, ask("q")) + 1000
    assert worst_case(Endpoint("e", "http://h/v1", "m"), ask("a")) is None
    assert worst_case(endpoint, ask("", max_tokens=None)) is None


def test_what_an_extra_body_adds_is_reserved_for() -> None:
    endpoint = Endpoint("e", "http://h/v1", "m", price_in=0.0, price_out=1e6)
    longer = replace(endpoint, extra_body={"max_completion_tokens": 700, "max_tokens": 9})
    assert worst(endpoint, ask("q", max_tokens=5)) == 5
    assert worst(longer, ask("q", max_tokens=5)) == worst(longer, ask("q", max_tokens=None)) == 700
    priced = replace(endpoint, price_in=1e6)
    told = replace(priced, extra_body={"chat_template_kwargs": {"hint": "x" * 1000}})
    assert worst(told, ask("q")) > worst(priced, ask("q")) + 1000


async def test_with_a_budget_every_answer_has_a_limit() -> None:
    client = Client()
    account = Account(Journal(None), budget=Budget(1e9))
    service = LlmService(PRICED, account, client=client)
    with pytest.raises(UsageError, match="set max_tokens"):
        await service.chat([ask("q", max_tokens=None)])
    assert not client.asked
    await service.close()
    account.journal.close()


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
