"""Passes that decide what XNNPACK gets."""
