"""Token probability scorers: the model's own probabilities of the response's tokens.

They need ``logprobs`` in the record, as ``veridical sample --logprobs`` writes them, or a proxy: a
language model that reads the response (``--proxy``). Some also need the alternatives at each token,
``samples`` or an LLM. They measure how probable, or how certain, the model's choices were. Choose
them if log-probabilities are available: most need no further model call. A low probability may come
from an unusual wording rather than from an error, and values of different models are not
comparable.
"""
