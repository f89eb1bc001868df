"""Studies of CheckEmbed (Besta et al. 2025).

``from veridical_lab.studies.checkembed.running import run_studies``; options are in
:mod:`veridical_lab.studies.checkembed.options`.
"""
