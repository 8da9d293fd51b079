"""Which configuration to try next. Knows no cluster and runs no trial."""

from orchestrator.search.proposer import Proposal, Proposer

__all__ = ["Proposal", "Proposer"]
