"""The record of a study: store, journal, lease, and its projection into MLflow."""
