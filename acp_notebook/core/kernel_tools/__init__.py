"""Kernel tools, the pure part: the records of runs, and how runs, notebooks and outputs read as results."""
