"""Tests of the benchmarks' own arithmetic: `pytest bench/checks`."""
