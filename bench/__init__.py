"""Benchmarks: each prints figures that the README or the docs quote. ``python -m bench`` lists them."""
