"""What XNNPACK's nodes take on a processor, as a model that was fitted to measurements."""
