"""Transformers, as the HTTP server that its own command `transformers serve` starts."""
