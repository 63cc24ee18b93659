"""What `xir-sweep` does: a plan of many programs, each compiled, compared and measured, and a table of them."""
