"""Engines' own virtual environments: made once from pinned packages, found again, told apart. Runs no engine."""

from orchestrator.environments.finding import MissingEnvironmentError, find_environment, installed_environments
from orchestrator.environments.installing import install

__all__ = ["MissingEnvironmentError", "find_environment", "install", "installed_environments"]
