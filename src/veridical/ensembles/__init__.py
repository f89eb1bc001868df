"""Ensembles and cascades: their files, how they are fitted and applied, their scorers."""
