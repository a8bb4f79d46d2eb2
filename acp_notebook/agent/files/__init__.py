"""Files for an agent: which are inside the session's folders, read and written so that nothing is lost.

Asks no permission (`permissions` does that) and knows no message.
"""
