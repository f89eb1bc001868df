"""Grounding scorers: the response against its sources.

They need ``contexts`` (documents, search results, tool output) or a ``reference`` (a gold answer);
some also take ``samples``. They measure whether the sources support, contradict or lack what the
response states, by NLI, word overlap, values or an LLM. Other scorers here measure retrieval, or
whether the answer addresses the question. Choose them for retrieval-augmented generation,
summaries, tool use and tests against gold answers. They take the sources for true: an error in a
source is not detected.
"""
