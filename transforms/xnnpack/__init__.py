"""Passes into and over the xnnpack dialect, and the rules that lower edge ops to it."""
