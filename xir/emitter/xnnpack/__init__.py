"""The bytes of an XNNPACK delegate, both ways."""
