"""From an execution plan back to a function."""
