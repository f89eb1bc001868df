"""CI outputs of a check or a comparison: JUnit XML, SARIF, Markdown."""
