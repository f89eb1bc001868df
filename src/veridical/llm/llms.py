"""LLMs of an engine: endpoints by name, and the accounts of runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from veridical.core.messages import ChatRequest, LlmError, Reply
from veridical.errors import UsageError, option_named
from veridical.llm.budget import Budget, check_budgeted
from veridical.llm.cost_accounting import Account
from veridical.llm.endpoints import Endpoint, find_endpoint
from veridical.llm.journal import JOURNAL, Journal
from veridical.llm.service import ChatClient, LlmService, open_client

if TYPE_CHECKING:
    from veridical.llm.decoding import Decoding


@runtime_checkable
class NamedClient(ChatClient, Protocol):
    """Client with an endpoint, such as :class:`veridical.llm.fake.FakeLlm`."""

    endpoint: Endpoint


Llm: TypeAlias = str | Endpoint | NamedClient


class Llms:
    """Opened endpoints, on one event loop.

    Args:
        default: the LLM of callers that name none.
        store: folder of the journal that runs share; None gives each run its own.
        budget: money that all runs together may spend, earlier sessions included.
        named_only: accept only names of ``veridical.toml``, never an address: for specs from
            outside requests.
        connect: opens the client of an endpoint.

    Raises:
        UsageError: no such endpoint exists, or no budget can be kept with it.
    """

    def __init__(
        self,
        default: Llm | None = None,
        *,
        store: Path | None = None,
        budget: float | None = None,
        named_only: bool = False,
        connect: Callable[[Endpoint], ChatClient] = open_client,
    ) -> None:
        self._store = store
        self._connect = connect
        self._named_only = named_only
        self.budget = None if budget is None else Budget(budget)
        self._lock = threading.RLock()
        self._journal: Journal | None = None
        self._endpoints: dict[str, Endpoint] = {}
        self._services: dict[str, LlmService] = {}
        self._client: NamedClient | None = None
        self.default: Endpoint | None = None
        if isinstance(default, str):
            self.default = find_endpoint(default)
        elif isinstance(default, Endpoint):
            self.default = default
        elif default is not None:
            if not hasattr(default, "endpoint"):
                raise UsageError(
                    f"llm must be a name or a client with an endpoint, not {default!r}"
                )
            self._client = default
            self.default = default.endpoint
        if self.default is not None:
            self._check(self.default)

    def calls(self) -> tuple[int, int]:
        """Return the number of answers obtained so far, and of answers obtained or pending."""
        services = list(self._services.values())
        answered = sum(service.obtained for service in services)
        return answered, answered + sum(service.waiting for service in services)

    def endpoint(self, spec: str | None = None) -> Endpoint:
        """Return the endpoint called ``spec``, or the default.

        Raises:
            UsageError: it does not exist.
        """
        if spec is None or (self.default is not None and spec == self.default.name):
            if self.default is None:
                raise UsageError(f"no LLM is named; give one ({option_named('llm', 'NAME')})")
            return self.default
        with self._lock:
            if spec not in self._endpoints:
                endpoint = find_endpoint(spec, named_only=self._named_only)
                self._check(endpoint)
                self._endpoints[spec] = endpoint
            return self._endpoints[spec]

    def _check(self, endpoint: Endpoint) -> None:
        if self.budget is not None:
            check_budgeted(endpoint)

    def decoding(self, by: Decoding) -> str:
        """Return the spec of the default LLM with the decoding ``by``.

        A client of the user's own is left as it is.

        Raises:
            UsageError: there is no default, or its server does not support this decoding.
        """
        from veridical.llm.decoding import endpoint_for

        default = self.endpoint()
        endpoint = default if self._client is not None else endpoint_for(by, default)
        if endpoint is default:
            return default.name
        name = f"{default.name} ({by})"
        with self._lock:
            self._endpoints[name] = replace(endpoint, name=name)
        return name

    def label(self, spec: str | None = None) -> str:
        """Return the label of an endpoint in signatures: its name and the model's."""
        endpoint = self.endpoint(spec)
        return f"llm:{endpoint.name}@{endpoint.model}"

    def service(self, spec: str | None = None) -> LlmService:
        """Return the service of an endpoint, opened on first use.

        Raises:
            UsageError: no such endpoint exists, or its key is not in the environment.
        """
        endpoint = self.endpoint(spec)
        with self._lock:
            service = self._services.get(endpoint.name)
            if service is None:
                own_client = self._client if endpoint is self.default else None
                client = own_client or self._connect(endpoint)
                service = LlmService(endpoint, client=client)
                self._services[endpoint.name] = service
            return service

    def _shared(self) -> Journal | None:
        with self._lock:
            if self._journal is None and self._store is not None:
                self._journal = Journal(self._store / JOURNAL)
            return self._journal

    def identity(self, spec: str | None = None) -> str:
        """Return the settings of an endpoint that replies depend on. Needs no key."""
        endpoint = self.endpoint(spec)
        if endpoint.kind in ("local", "torch"):  # the files' content counts
            return self.service(spec).identity
        return endpoint.identity

    def kept(self) -> Journal | None:
        """Return the journal that runs share, None if it is not open yet."""
        there = self._store is not None and (self._store / JOURNAL).is_file()
        return self._shared() if there else None

    def account(self, run: str, folder: Path | None, *, retry: bool = False) -> Account:
        """Open an account for the run called ``run`` in ``folder`` (None: no files).

        End it by :meth:`leave`.
        """
        journal = self._shared() or Journal(None if folder is None else folder / JOURNAL)
        return Account(journal, run, retry=retry, budget=self.budget)

    def chat(self, account: Account, spec: str | None = None) -> RunChat:
        """Return an LLM, the default unless named, that charges ``account``."""
        return RunChat(self.service(spec), account)

    def leave(self, account: Account) -> None:
        """Close the account of a run."""
        account.close()
        if account.journal is not self._journal:
            account.journal.close()

    async def close(self) -> None:
        """Cancel the calls in flight and close everything."""
        for service in self._services.values():
            await service.close()
        self._services.clear()  # a local model must not outlive its engine
        if self._journal is not None:
            self._journal.close()


class RunChat:
    """One LLM as used by a run, for sampling."""

    def __init__(self, service: LlmService, account: Account) -> None:
        self._service = service
        self._account = account

    async def chat(self, requests: Sequence[ChatRequest]) -> list[Reply]:
        """See :meth:`LlmService.chat`."""
        return await self._service.chat(requests, self._account)

    async def chat_each(self, requests: Sequence[ChatRequest]) -> list[Reply | LlmError]:
        """See :meth:`LlmService.chat_each`."""
        return await self._service.chat_each(requests, self._account)
