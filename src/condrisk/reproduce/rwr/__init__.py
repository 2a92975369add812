"""Regression with rejection: the paper's study on eight UCI sets."""
