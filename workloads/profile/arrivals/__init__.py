"""How requests arrive: unevenness on every time scale, the process behind it, change points, spectrum."""
