"""Conditional risk of any predictor: the expected loss at this very input, and what to do about it."""

__version__ = "0.1.0.dev0"
