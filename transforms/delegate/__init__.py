"""What forming delegates needs, whatever the backend."""
