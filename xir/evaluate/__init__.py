"""What a module computes, at any point of a pipeline: edge ops by ATen, xnnpack nodes by their definitions."""

from xir.evaluate.evaluator import Evaluator, run_function, run_module

__all__ = ["Evaluator", "run_function", "run_module"]
