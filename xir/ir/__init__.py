"""What every dialect shares: context, blobs, text, locations, diagnostics, verification, rewriting, passes."""
