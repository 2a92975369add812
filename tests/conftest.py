"""Fixtures that every test may use."""

import pytest

SEEDS = range(5)


@pytest.fixture(params=SEEDS)
def seed(request):
    """Each of five seeds: a test that holds for one lucky seed does not hold."""
    return request.param
