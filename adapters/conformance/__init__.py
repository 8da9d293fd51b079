"""What every engine adapter must do, published as a test class."""

from adapters.conformance.suite import CANONICAL, AdapterConformance

__all__ = ["CANONICAL", "AdapterConformance"]
