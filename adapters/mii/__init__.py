"""DeepSpeed-MII behind its own OpenAI server."""
