"""The model zoo: `load_model("mv2")` gives a module in evaluation mode and inputs for it.

Looking names up needs no torch; building a model does.
"""

from .errors import ModelError
from .zoo import MODELS, calibration_inputs, load_model

__all__ = ["MODELS", "ModelError", "calibration_inputs", "load_model"]
