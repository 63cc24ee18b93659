"""Delegates of backends that xir does not know: their bytes stay, whatever becomes of what is around them."""

from __future__ import annotations

from pathlib import Path

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner as StockPartitioner
from executorch.exir import ExportedProgram, to_edge_transform_and_lower
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.canonical_partitioners.pattern_op_partitioner import generate_pattern_op_partitions
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.runtime import Runtime as StockRuntime
from reference.modules import Calling
from reference.tools import Tool
from torch import fx, nn
from torch.fx.passes.operator_support import OperatorSupportBase

import xir
from xir.dialects.pte import DelegateOp
from xir.ir.walking import ops_in

BLOB = bytes(range(256)) * 5 + b"not a flatbuffer"
SPECS = [CompileSpec("speed", b"\x00\x07high")]


class SinesBackend(BackendDetails):
    """Says of whatever it is given the same bytes."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        del edge_program, compile_specs
        return PreprocessResult(processed_bytes=BLOB)


class Sines(OperatorSupportBase):
    """Sines alone."""

    def is_node_supported(self, submodules: object, node: fx.Node) -> bool:
        del submodules
        return node.op == "call_function" and "sin" in str(node.target)


class SinesPartitioner(Partitioner):
    """Gives sines to that backend."""

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        tags: dict[str, DelegationSpec] = {}
        for part in generate_pattern_op_partitions(exported_program.graph_module, op_support=Sines()):
            tag = f"sines_{part.id}"
            tags[tag] = DelegationSpec(SinesBackend.__name__, SPECS)
            for node in part.nodes:
                node.meta["delegation_tag"] = tag
        return PartitionResult(tagged_exported_program=exported_program, partition_tags=tags)


def of_others(program: xir.ExecutorchProgram) -> list[tuple[str, str]]:
    """The ids and the text of the delegates that are not XNNPACK's."""
    delegates = [each for each in ops_in(program.module, DelegateOp) if each.id.data != "XnnpackBackend"]
    return [(each.id.data, str(each)) for each in delegates]


def test_a_delegate_of_another_backend_stays(tmp_path: Path, aot: Tool) -> None:
    """With XNNPACK's delegates and kernels on both sides of it."""
    layers = {"first": nn.Linear(8, 8), "norm": nn.LayerNorm(8), "last": nn.Linear(8, 4)}
    model = Calling(lambda m, x: m.last(m.norm(m.first(x).relu()).sin()), **layers).eval()
    exported = torch.export.export(model, (torch.randn(2, 8),))
    lowered = to_edge_transform_and_lower(exported, partitioner=[SinesPartitioner(), StockPartitioner()])
    old, new = tmp_path / "old.pte", tmp_path / "new.pte"
    old.write_bytes(lowered.to_executorch().buffer)
    program = xir.load(old)
    (delegate,) = of_others(program)
    assert delegate[0] == SinesBackend.__name__
    remade = program.optimized(xir.XnnpackPartitioner())
    assert "only SinesBackend knows what its delegate computes" in "".join(each.message for each in remade.remarks)
    remade.save(new)
    assert old.read_bytes().count(BLOB) == new.read_bytes().count(BLOB) == 1
    assert of_others(xir.load(new)) == [delegate]
    # Stock's runtime has no such backend either, and reads what the file has.
    for path in (old, new):
        loaded = StockRuntime.get().load_program(path)
        assert loaded.method_names == {"forward"}
        assert loaded.metadata("forward").num_inputs() == 1
    said = aot.refuse(f"{old} -o {tmp_path / 'better.pte'}")
    assert "SinesBackend" in said
    assert not (tmp_path / "better.pte").exists()
