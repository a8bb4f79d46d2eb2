"""Fan-out as plain data: the runs to do, their results, and what is computed from these."""
