"""The studies of CheckEmbed (Besta et al. 2025) on texts that a language model writes for them.

``from veridical_lab.studies.checkembed.running import run_studies``; what may be asked for is in
:mod:`veridical_lab.studies.checkembed.options`.
"""
