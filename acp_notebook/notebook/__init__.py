"""Jupyter: where the code runs, how it waits there, and what it shows.

Knows nothing of agents or of their protocol.
"""
