"""The package's version; its import costs nothing."""

__version__ = "0.3.0"
