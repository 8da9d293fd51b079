"""The one ancestor of every error that bad traffic input causes."""


class WorkloadError(ValueError):
    """A trace, profile, workload or prompt source is not what it should be: expected, seen, what to do."""
