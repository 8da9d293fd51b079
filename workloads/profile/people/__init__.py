"""Who sends: sessions, clients, and how many requests are in flight at once."""
