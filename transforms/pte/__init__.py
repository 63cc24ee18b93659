"""Passes into and over the pte dialect."""
