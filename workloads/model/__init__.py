"""What traffic is made of: the parameters that a profile measures, a catalogue publishes and synthesis draws from."""

from workloads.model.arrivals import (
    ArrivalModel,
    ClientArrivals,
    ComposedArrivals,
    GridArrivals,
    Harmonic,
    HarmonicArrivals,
    MmppArrivals,
    PiecewiseArrivals,
    PoissonArrivals,
    RenewalArrivals,
)
from workloads.model.frozen import Frozen
from workloads.model.lengths import Dependence, FamilyLengths, FamilyName, LengthModel, QuantileLengths
from workloads.model.prefixes import PrefixModel, PrefixTree, SharedPrompts
from workloads.model.sessions import SessionModel
from workloads.model.traffic import TrafficModel

__all__ = [
    "ArrivalModel",
    "ClientArrivals",
    "ComposedArrivals",
    "Dependence",
    "FamilyLengths",
    "FamilyName",
    "Frozen",
    "GridArrivals",
    "Harmonic",
    "HarmonicArrivals",
    "LengthModel",
    "MmppArrivals",
    "PiecewiseArrivals",
    "PoissonArrivals",
    "PrefixModel",
    "PrefixTree",
    "QuantileLengths",
    "RenewalArrivals",
    "SessionModel",
    "SharedPrompts",
    "TrafficModel",
]
