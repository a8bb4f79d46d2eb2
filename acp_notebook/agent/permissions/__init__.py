"""Who allows an act: the policy, what was allowed before, or the user, asked at most once.

Carries nothing out itself.
"""
