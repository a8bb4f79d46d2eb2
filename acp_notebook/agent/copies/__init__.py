"""Copies of a folder for the runs of a fan-out, made from a private snapshot, and what a run changed in one.

The user's branches, worktrees and index are never touched. Everything here blocks: call it on a work thread.
"""
