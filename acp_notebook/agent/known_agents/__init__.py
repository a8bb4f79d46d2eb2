"""Agents known by name: how each is found, started, installed, and what it needs in particular.

Starts none of them.
"""
