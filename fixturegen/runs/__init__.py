"""A run: its schedule, its execution, its raw data and context, its summary, its states."""
