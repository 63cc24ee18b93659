"""Arenas: how long tensors live, where they are placed, and how few bytes could do."""
