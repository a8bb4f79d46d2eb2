"""Agents known by name: how to find, start and install each, and its quirks.

Starts none of them.
"""
