"""What a backend is (`interface`), and which ones there are (`registry`)."""
