"""Ratios against peers, measured in one run: `python3 dev.py bench`.

The peers are the official Python SDK's client and a bare loop over msgspec that keeps nothing.
"""
