"""Measuring XNNPACK's nodes on the machine at hand, and fitting a cost profile to what they took."""
