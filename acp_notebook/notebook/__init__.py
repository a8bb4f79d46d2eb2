"""The Jupyter side: detect the runtime, wait without blocking clicks, and show output.

Independent of agents and of ACP.
"""
