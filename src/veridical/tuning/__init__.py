"""``veridical tune``: ensembles fitted to graded answers, with unbiased figures."""
