"""Writes the file of LiteRT; run by the Python of litert-torch's own environment, which has nothing of xir.

    python convert_for_litert.py FORM FOLDER FILE.tflite

FOLDER has program.pt2 and image_*.npz, the calibration inputs.
"""

# pyright: reportMissingImports=false

import sys
import tempfile
from pathlib import Path
from typing import Any

import litert_torch
import numpy as np
import torch
from ai_edge_quantizer import qtyping, quantizer, recipe, recipe_manager


def convert(folder: Path, path: Path) -> None:
    """Write the program in fp32."""
    program = torch.export.load(folder / "program.pt2")
    assert program.example_inputs is not None
    positional, named = program.example_inputs
    module: Any = litert_torch
    module.convert(program.module(), positional, named or None).export(str(path))


def static_recipe() -> Any:
    """int8 throughout, but for inputs and outputs, which stay in float as in the other runtimes' files."""
    manager: Any = recipe_manager.RecipeManager()
    everything, inputs, outputs = (qtyping.TFLOperationName[name] for name in ("ALL_SUPPORTED", "INPUT", "OUTPUT"))
    manager.add_static_config(regex=".*", operation_name=everything, activation_num_bits=8, weight_num_bits=8)
    for name in (inputs, outputs):
        manager.add_quantization_config(regex=".*", operation_name=name, algorithm_key="no_quantize")
    return manager.get_quantization_recipe()


def quantize(source: Path, form: str, folder: Path, path: Path) -> None:
    """Write the file in int8, or with 4-bit weights in groups of 32 and activations in 8 bits at run time."""
    tool: Any = quantizer.Quantizer(str(source))
    if form == "int4":
        tool.load_quantization_recipe(recipe.dynamic_wi4b32_afp32())
        tool.quantize(serialize_to_path=str(path))
        return
    tool.load_quantization_recipe(static_recipe())
    images = [list(np.load(file).values()) for file in sorted(folder.glob("image_*.npz"))]
    feeds = [{f"args_{index}": array for index, array in enumerate(image)} for image in images]
    statistics = tool.calibrate({"serving_default": feeds})
    tool.quantize(statistics, serialize_to_path=str(path))


def main(form: str, folder: Path, path: Path) -> None:
    """Convert, and quantise what is not fp32."""
    if form == "fp32":
        convert(folder, path)
        return
    with tempfile.TemporaryDirectory() as name:
        whole = Path(name) / "fp32.tflite"
        convert(folder, whole)
        quantize(whole, form, folder, path)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
