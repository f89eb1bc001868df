"""Injection attempts, and how often a judge is moved by them."""

from __future__ import annotations

from veridical_lab.injections.attempts import AttackedItem as Item
from veridical_lab.injections.attempts import Attempt, attempts, items
from veridical_lab.injections.redteam import AttackRate as Rate
from veridical_lab.injections.redteam import Findings, Place, measure, records

__all__ = [
    "Attempt",
    "Findings",
    "Item",
    "Place",
    "Rate",
    "attempts",
    "items",
    "measure",
    "records",
]
