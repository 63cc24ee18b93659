"""Import what xir's commands do when this is imported, so that processes forked from this one need not."""

import gc

import torch

import xir
import xir.quantizer.quantize  # pyright: ignore[reportUnusedImport]
import xir.tools.xir_aot  # pyright: ignore[reportUnusedImport]

exported = torch.export.export(torch.nn.ReLU(), (torch.ones(2, 3),), dynamic_shapes=({0: torch.export.Dim.AUTO},))
assert xir.to_edge(exported, max_size=4).to_backend(xir.XnnpackPartitioner()).to_executorch().buffer
# To look through this for garbage would copy all of its memory in each process.
gc.collect()
gc.freeze()
