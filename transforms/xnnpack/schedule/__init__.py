"""Passes that choose among forms of a node, by a processor's profile or by the memory that may be taken."""
