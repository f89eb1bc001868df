"""Scores made of scores. Importing this registers them."""

from veridical.scorers.ensembles import cascade, ensemble, famd  # noqa: F401
