"""Weights on disk: fetched, checked, converted between formats of equal precision, described. Runs no model."""

from orchestrator.models.fetching import FetchedModel, fetch, resolve

__all__ = ["FetchedModel", "fetch", "resolve"]
