"""Passes that make fewer and cheaper nodes, whatever the processor."""
