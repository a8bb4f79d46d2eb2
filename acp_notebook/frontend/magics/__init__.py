"""What is written in cells: %acp_agent, %acp, %%acp, their @-names, and what Tab offers there.

Stands on the same public calls as a script; nothing below knows it.
"""
