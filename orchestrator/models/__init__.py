"""Weights on disk: fetched, checked, converted between formats of equal precision, described. Runs no model."""

from orchestrator.models.fetching import FetchedModel, fetch, resolve
from orchestrator.models.known import KNOWN
from orchestrator.models.presence import ensure_here

__all__ = ["KNOWN", "FetchedModel", "ensure_here", "fetch", "resolve"]
