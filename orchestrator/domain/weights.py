"""How the weights of two references relate: the same values, derived from one checkpoint, different, or not known."""

from typing import Literal

from adapters.protocol import ModelRef

WeightsRelation = Literal["same", "derived", "different", "unknown"]


def weights_relation(a: ModelRef, b: ModelRef) -> WeightsRelation:
    """Say how two sets of weights relate, whatever formats they are in; symmetric.

    *Same*: equal files, or every value equal. *Derived*: one checkpoint behind both, but at least one of them stores
    other values than that checkpoint's. *Unknown*: the checkpoint behind one of them is not known.
    """
    if a.weights_sha256 == b.weights_sha256:
        return "same"
    if a.checkpoint_digest is None or b.checkpoint_digest is None:
        return "unknown"
    if a.checkpoint_digest != b.checkpoint_digest:
        return "different"
    return "derived" if a.is_derived or b.is_derived else "same"
