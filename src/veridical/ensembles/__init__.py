"""Ensembles and cascades: files, fitting, application and scorers."""
