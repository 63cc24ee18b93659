"""Convolutions composed of several nodes: their forms, the nodes of each, and what these cost."""
