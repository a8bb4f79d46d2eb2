"""Terminals: commands that an agent has us run, their output, their exit, their end.

Asks no permission, and knows no message.
"""
