"""Consistency scorers: the response against other answers to the same prompt.

They need ``samples``: several answers of the same model to the same prompt, for example those that
``veridical sample`` writes. Some also take ``contexts`` or ``reference`` instead. They measure how
far the answers agree, by NLI, embeddings, n-grams or exact comparison. A model that does not know
an answer tends to give different ones, so disagreement raises the risk. Choose them where no source
documents are available. They cannot detect an error that the model repeats in every sample.
"""
