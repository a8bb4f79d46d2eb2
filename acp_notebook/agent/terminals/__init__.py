"""Terminals: run commands for an agent, with their output and exit status, and end them.

Does not ask for permission; independent of the protocol's messages.
"""
