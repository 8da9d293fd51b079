"""Weights on disk: fetched, checked, converted between formats of equal precision, described. Runs no model."""

from orchestrator.models.fetching import FetchedModel, fetch, resolve
from orchestrator.models.known import KNOWN

__all__ = ["KNOWN", "FetchedModel", "fetch", "resolve"]
