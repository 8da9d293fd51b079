"""How long prompts and answers are: quantiles, families, tails, and how both go together."""
