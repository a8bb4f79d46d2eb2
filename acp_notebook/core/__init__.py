"""The pure heart: what happened in a conversation, as data.

No asyncio, no widgets, no protocol types, no clock, no random ids: the same events always give the
same transcript.
"""
