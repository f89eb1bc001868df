"""`veridical tune`: ensembles fitted to graded answers, with honest figures."""
