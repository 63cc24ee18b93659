"""What XNNPACK itself says of nodes and graphs."""
