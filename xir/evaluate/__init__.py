"""What a module computes, at any point of a pipeline: edge ops by ATen, xnnpack nodes by their definitions."""

from xir.evaluate.checker import NumericsChecker
from xir.evaluate.evaluator import Evaluator, run_function, run_module
from xir.evaluate.miscompiles import MiscompileError

__all__ = ["Evaluator", "MiscompileError", "NumericsChecker", "run_function", "run_module"]
