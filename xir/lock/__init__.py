"""Contracts for builds: a lock that says what a `.pte` file is, bounds on it, and what a build is held to."""
