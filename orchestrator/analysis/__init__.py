"""What measurements say together: curves, scores, rankings. Pure functions; measures nothing itself."""
