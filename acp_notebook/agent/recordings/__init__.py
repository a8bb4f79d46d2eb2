"""Recordings: write every message of a session to a file, without its secrets, and replay it.

A replay starts no agent, runs no command, and asks no one.
"""
