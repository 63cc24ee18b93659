"""What editors show of MLIR text while it is written: errors, types, documentation, places, names to choose from.

Nothing here knows of a protocol but `server.py`; places are offsets in the text, in characters. Text under work is
wrong most of the time: each part says what it can of the text that there is, and never raises.
"""
