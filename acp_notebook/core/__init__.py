"""The pure part of the package: conversations, permissions and changes as data.

No asyncio, no widgets, no protocol types, no clock, no random ids: the same events always produce
the same transcript.
"""
