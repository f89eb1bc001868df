"""Studies of CheckEmbed (Besta et al. 2025) on texts by a language model.

``from veridical_lab.studies.checkembed.running import run_studies``; options are in
:mod:`veridical_lab.studies.checkembed.options`.
"""
