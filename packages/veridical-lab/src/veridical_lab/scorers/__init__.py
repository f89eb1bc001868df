"""Methods of papers that no preset uses."""
