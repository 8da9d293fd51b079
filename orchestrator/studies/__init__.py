"""What to run: studies read from YAML, expanded into plans, carried through by a runner."""
