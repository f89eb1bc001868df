"""Judge scorers: verdicts requested from a language model.

They need an LLM: an endpoint, or a local model. Some judge the response alone, others against
``contexts`` or ``samples``. They ask the model for a verdict, a grade or a probability, and turn
token probabilities into confidences if the server returns them. Choose them for criteria that NLI
and embeddings do not cover, or if a strong model is available. Each call costs time and money, and
verdicts depend on the model and the template. A model that judges its own answers tends to approve
them.
"""
