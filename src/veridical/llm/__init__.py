"""Chat models.

Calls: ``llms`` (of an engine), ``service`` (each distinct one once), ``client`` (attempts),
``limiter`` (when they leave), ``retries``, ``transport`` (HTTP), ``replies``.
Money: ``budget``, ``payments`` (by attempt), ``ledger`` (what it came to), ``journal`` (on disk).
Models: ``endpoints`` and ``configuration``; ``local``, ``fake``.
Verdicts: ``asking``, ``verdicts``, and of texts ``statements``, ``phrases``, ``visible``.
"""
