"""Starts engines, proves them alive, takes them down and says what is left. Never sends measured load."""
