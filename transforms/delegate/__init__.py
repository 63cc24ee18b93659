"""Marking, forming and legalising delegates, for any backend."""
