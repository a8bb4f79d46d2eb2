"""Read and write files for an agent, only inside the session's folders, without losing anything.

Does not ask for permission (`permissions` does); independent of the protocol's messages.
"""
