"""Fixtures that every test may use."""

import os

import pytest
from hypothesis import settings

SEEDS = range(5)

# Busy machines are slow, not wrong. New examples are tried at every run, but not in CI, where a
# failure must come from the change.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(params=SEEDS)
def seed(request):
    """Each of five seeds: a test that holds for one lucky seed does not hold."""
    return request.param
