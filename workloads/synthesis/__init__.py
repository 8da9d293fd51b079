"""Traffic made from a model and a seed: arrivals, lengths, sessions and shared prefixes, each knob on its own."""
