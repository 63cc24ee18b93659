"""PyTorch's own samples of its operators, each taken through the compiler and the runtime, against eager."""
