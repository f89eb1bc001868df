"""RepC: classifiers on a language model's hidden states.

Hu et al. 2024, RefChecker.
"""
