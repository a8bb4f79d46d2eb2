"""Benchmarks as ratios to peers, measured in one run: `python3 dev.py bench`.

The peers are the client of the official Python SDK and a bare msgspec loop.
"""
