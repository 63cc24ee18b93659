"""What a backend is (`interface`), which ones there are (`registry`), and those of plugins (`plugins`)."""
