"""How nodes are built of the ops that XNNPACK gets."""
