"""Permissions: the policy, earlier grants or the user decide about an action, with at most one question.

Carries out no actions.
"""
