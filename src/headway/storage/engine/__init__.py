"""How transactions are run: the store, its one writer, wake-ups, and values as text."""
