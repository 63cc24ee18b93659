"""Passes over the edge dialect, before and beside delegates."""
