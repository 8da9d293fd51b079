"""What may vary: parameters, constraints between them, one catalogue file per engine."""

from search_spaces.catalog import load_space
from search_spaces.constraint import Constraint
from search_spaces.parameter import Parameter
from search_spaces.space import Assignment, SearchSpace, SpaceError

__all__ = ["Assignment", "Constraint", "Parameter", "SearchSpace", "SpaceError", "load_space"]
