"""What passes and reports ask of graphs of XNNPACK's nodes, and how they tell what was chosen."""
