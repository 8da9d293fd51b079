"""What prompts share: reuse with an infinite cache, with caches of every size, and the table to make more of it."""
