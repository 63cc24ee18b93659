"""Generated programs in xir's runtime and in stock ExecuTorch, side by side (`make fuzz-differential`)."""
