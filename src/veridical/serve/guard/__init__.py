"""Guard: a proxy of language models that checks their answers."""
