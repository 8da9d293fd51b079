"""Traffic: traces, their profiles, workloads, schedules and prompts."""
