"""Accuracy on trained models, whose weights are those of packages; nothing is fetched from elsewhere."""
