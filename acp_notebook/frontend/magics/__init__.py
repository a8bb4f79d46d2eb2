"""The magics: %acp_agent, %acp, %%acp, their @-names and Tab completion.

They use the same public calls as a script.
"""
