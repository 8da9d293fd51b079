"""Whether made traffic is like the traffic it was made from: trait by trait, with the noise of the making beside it."""
