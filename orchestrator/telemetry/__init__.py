"""Samples engine, process tree, host and devices beside a replay, in a process of its own. Never sends load."""
