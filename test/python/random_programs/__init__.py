"""Random PyTorch programs of a few ops, whose text is drawn, and what the compiler and the runtimes make of them."""
