"""Profiles of traces. Pure: reading files is `workloads.readers`, drawing is the report's."""
