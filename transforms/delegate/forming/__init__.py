"""What the passes that form delegates share, of whatever backend."""
