"""Measurements beside stock ExecuTorch: `make bench`, or `python -m bench --help`."""
