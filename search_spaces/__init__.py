"""What may vary: parameters, constraints between them, one catalogue file per engine."""
