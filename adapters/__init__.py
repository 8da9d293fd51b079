"""How each serving engine is configured, started, spoken to and read."""
