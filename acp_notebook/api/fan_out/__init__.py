"""Fan-out: many prompts, agents and attempts, each run in its own copy of the folder, here or on a cluster.

`call` has `acp.fan_out`; `runs` and `run` are what it returns; `dispatcher` decides what runs next on an
engine (`embedded`, `remote`); `work` carries out one run, wherever that is.
"""
