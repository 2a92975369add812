"""Benchmarks: ratios measured in one run, on one thread, with the records kept in results/."""
