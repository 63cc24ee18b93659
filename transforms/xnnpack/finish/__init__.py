"""Passes that see the graphs as the file will hold them."""
