"""Passes over the IR of any dialect."""
