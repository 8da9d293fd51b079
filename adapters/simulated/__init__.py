"""A scripted engine with exact timings: the oracle for the ruler, the stand-in for hardware nobody has here."""
