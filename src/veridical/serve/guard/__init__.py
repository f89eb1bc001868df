"""The guard: a proxy of language models whose answers are checked before, or as, they leave."""
