"""What a check or a comparison leaves for CI: JUnit XML, SARIF, a summary in Markdown."""
