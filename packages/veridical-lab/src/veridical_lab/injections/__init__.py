"""Injection attempts, and how often a judge is moved by them."""

from __future__ import annotations

from veridical_lab.injections.attempts import Attempt, Item, attempts, items
from veridical_lab.injections.redteam import Findings, Place, Rate, measure, records

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
