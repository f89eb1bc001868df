"""Chat models: calls, costs, endpoints and verdicts.

Calls: ``llms`` (of an engine), ``service`` (deduplication), ``client`` (attempts), ``limiter``
(concurrency and rate), ``retries``, ``transport`` (HTTP), ``replies``. Costs: ``budget``,
``cost_accounting`` (by attempt), ``ledger`` (totals), ``journal`` (on disk). Models: ``endpoints``
and ``configuration``; ``local``, ``fake``. Verdicts: ``asking``, ``verdicts``, and for free text
``statements``, ``phrases``, ``visible``.
"""
