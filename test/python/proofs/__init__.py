"""Proofs that passes keep what subgraphs compute: for every value of inputs and weights, at bounded shapes."""
