"""The nouns of a study: frozen values, no I/O, nothing above this package."""
