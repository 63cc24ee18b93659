"""Passes that work on the dimensions of edge ops, and on what is written to a part of a buffer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product
from math import prod

from proofs.graphs import forward
from proofs.proof import NUMBERS, Reading, disproves, proves
from xir.transforms.edge.collapse_dims import CollapseDimsPass
from xir.transforms.edge.crop_padding import CropPaddingPass
from xir.transforms.edge.put_slices import PutSlicesPass
from xir.transforms.edge.unmerge_dynamic_dims import UnmergeDynamicDimsPass

FEW = CollapseDimsPass(max_rank=3)
SHAPES = ((2, 1, 2, 2), (2, 2, 1, 2), (2, 1, 1, 2, 2))


def tensor(shape: Sequence[int]) -> str:
    """A type."""
    return f"tensor<{''.join(f'{size}x' for size in shape)}f32>"


def viewed(shape: Sequence[int], op: str, result: Sequence[int], *operands: Sequence[int]) -> str:
    """An op on `%0`, a view of a vector, whose result is viewed as one."""
    sizes = ", ".join(map(str, shape))
    types = ", ".join(map(tensor, (shape, *operands)))
    size, after = prod(shape), prod(result)
    return forward(f"""
(%x: {tensor([size])}, %y: {tensor([2])})
  %0 = edge.view(%x) {{size = array<i64: {sizes}>}} : ({tensor([size])}) -> {tensor(shape)}
  %1 = edge.{op} : ({types}) -> {tensor(result)}
  %2 = edge.view(%1) {{size = array<i64: {after}>}} : ({tensor(result)}) -> {tensor([after])}
""")


@proves(FEW, at_least=50, readings=[NUMBERS])
@disproves(
    "dimensions that were neighbours before",
    "if runs and behind.get(runs[-1][-1]) == dim:",
    "if runs and behind.get(dim) == runs[-1][-1]:",
)
def test_permuted() -> Iterator[str]:
    """All permutations of four and some of five dimensions."""
    for shape in SHAPES:
        for perm in list(permutations(range(len(shape))))[:: 1 if len(shape) == 4 else 7]:
            dims = ", ".join(map(str, perm))
            yield viewed(shape, f"permute(%0) {{dims = array<i64: {dims}>}}", [shape[dim] for dim in perm])


@proves(FEW, at_least=6, readings=[NUMBERS])
def test_broadcast() -> Iterator[str]:
    """Sums with a vector, and expansions of one dimension."""
    for shape in SHAPES:
        yield viewed(shape, "sub.Tensor(%0, %y)", shape, [2])
        yield viewed(shape, "exp(%0)", shape)
        wide = [2 if size == 1 else size for size in shape]
        sizes = ", ".join(map(str, wide))
        yield viewed(shape, f"expand(%0) {{size = array<i64: {sizes}>}}", wide)


@proves(FEW, at_least=60, readings=[NUMBERS])
@disproves(
    "one dimension merged with another kind",
    "merged(shape, [range(dim), [dim], range(dim + 1, len(shape))])",
    "merged(shape, [[*range(1, dim), 0][:dim], range(dim, dim + 1), range(dim + 1, len(shape))][::-1])",
)
def test_along() -> Iterator[str]:
    """Sums, means, softmax, slices and selections along each dimension, and along each two."""
    for shape in SHAPES:
        for dim, size in enumerate(shape):
            before, behind = shape[:dim], shape[dim + 1 :]
            yield viewed(shape, f"_softmax(%0) {{dim = {dim} : i64, half_to_float = false}}", shape)
            text = f"slice.Tensor(%0) {{dim = {dim} : i64, start = {size - 1} : i64, end = {size} : i64}}"
            yield viewed(shape, text, [*before, 1, *behind])
            yield viewed(shape, f"select.int(%0) {{dim = {dim} : i64, index = -1 : i64}}", [*before, *behind])
        names = ("sum.dim_IntList", "mean.dim")
        for dims, keeps, name in product(combinations(range(len(shape)), 2), (False, True), names):
            kept = [1 if at in dims else size for at, size in enumerate(shape) if keeps or at not in dims]
            text = f"{name}(%0) {{dim = array<i64: {dims[0]}, {dims[1]}>, keepdim = {str(keeps).lower()}}}"
            yield viewed(shape, text, kept)


@proves(CropPaddingPass(), at_least=10, readings=[Reading(sizes=(5,)), Reading(sizes=(6,))])
@disproves("a padding that no stride counts", "behind = padding - dropped * stride", "behind = padding - dropped")
def test_cropped_convolutions() -> Iterator[str]:
    """Of a vector and of an image, by paddings, strides and numbers of elements that are cut off."""
    for padding, stride, dropped in product((1, 2, 3), (1, 2), (1, 2)):
        yield forward(f"""
(%x: tensor<1x2x?xf32>, %w: tensor<1x2x3xf32>, %b: tensor<1xf32>)
  %0 = edge.conv1d(%x, %w, %b) {{padding = array<i64: {padding}>, stride = array<i64: {stride}>}}
       : (tensor<1x2x?xf32>, tensor<1x2x3xf32>, tensor<1xf32>) -> tensor<1x1x?xf32>
  %1 = edge.slice.Tensor(%0) {{dim = 2 : i64, start = 0 : i64, end = -{dropped} : i64}}
       : (tensor<1x1x?xf32>) -> tensor<1x1x?xf32>
""")
        yield forward(f"""
(%x: tensor<1x1x?x2xf32>, %w: tensor<1x1x2x2xf32>)
  %0 = edge.conv2d(%x, %w, none) {{padding = array<i64: {padding}, 1>, stride = array<i64: {stride}, 1>}}
       : (tensor<1x1x?x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x?x3xf32>
  %1 = edge.slice.Tensor(%0) {{dim = 2 : i64, start = 0 : i64, end = -{dropped} : i64}}
       : (tensor<1x1x?x3xf32>) -> tensor<1x1x?x3xf32>
""")


def written(takes: str, body: str, operands: str) -> str:
    """A buffer of three rows and two columns, and what is written to it."""
    return f"""
func.func @forward({takes}) {{
  %k = edge.mutable_buffer "k" dense<0.0> : tensor<3x2xf32>
  %w = edge.{body} : (tensor<3x2xf32>, {operands}) -> tensor<3x2xf32>
  edge.update_buffer %k, %w : tensor<3x2xf32>
  func.return
}}
"""


@proves(PutSlicesPass(), at_least=30)
@disproves(
    "a slice without its step",
    "positions = range(shape[dim])[start:end:step]",
    "positions = range(shape[dim])[start:][: len(range(shape[dim])[start:end:step])]",
)
def test_written_slices() -> Iterator[str]:
    """Every slice along each dimension, from its start and from its end."""
    for dim, size in ((0, 3), (1, 2)):
        for start, end, step in product(range(-size, size), range(-size + 1, size + 1), (1, 2)):
            if count := len(range(size)[start:end:step]):
                source = f"tensor<{count}x2xf32>" if dim == 0 else f"tensor<3x{count}xf32>"
                given = f"dim = {dim} : i64, start = {start} : i64, end = {end} : i64, step = {step} : i64"
                yield written(f"%x: {source}", f"slice_scatter(%k, %x) {{{given}}}", source)


@proves(PutSlicesPass(), at_least=10)
@disproves(
    "a row from the other end",
    "positions = [op.index % shape[dim]]",
    "positions = [abs(op.index) % shape[dim]]",
)
def test_written_rows() -> Iterator[str]:
    """One row or column at a known place."""
    for dim, size in ((0, 3), (1, 2)):
        for index in range(-size, size):
            source = f"tensor<{5 - size}xf32>"
            given = f"select_scatter(%k, %x) {{dim = {dim} : i64, index = {index} : i64}}"
            yield written(f"%x: {source}", given, source)


@proves(PutSlicesPass(), at_least=8)
def test_written_positions() -> Iterator[str]:
    """Rows at positions that are given at run time, of values that broadcast."""
    for count, shape in product((1, 2), ("", "1x", "2x", "1x1x", "1x2x")):
        source, positions = f"tensor<{shape}f32>".replace("1x2x", f"{count}x2x"), f"tensor<{count}xi64>"
        for given, index in ((source, "%at"), (f"tensor<3x{count}xf32>", "none, %at")):
            takes = f"%x: {given}, %at: {positions}"
            yield written(takes, f"index_put(%k, [{index}], %x)", f"{positions}, {given}")


OPEN = "-9223372036854775808"
SIZES = """
  %n = edge.sym_size.int(%x) {dim = 0 : i64} : (tensor<?x?x2xf32>) -> i64
  %t = edge.sym_size.int(%x) {dim = 1 : i64} : (tensor<?x?x2xf32>) -> i64"""
OF_TWO = [Reading(sizes=sizes) for sizes in ((2, 3), (3, 2), (1, 3))]


@proves(UnmergeDynamicDimsPass(), at_least=3, readings=OF_TWO)
def test_merged_by_row() -> Iterator[str]:
    """Rows of open dimensions that a view merges, that are split as they were or the other way round."""
    ops = (
        ("exp(%0) : (tensor<?x2xf32>)", 2),
        ("sub.Tensor(%0, %y) : (tensor<?x2xf32>, tensor<2xf32>)", 2),
        ("linear(%0, %w, none) : (tensor<?x2xf32>, tensor<3x2xf32>)", 3),
    )
    for (op, columns), (first, second) in product(ops, (("n", "t"), ("t", "n"))):
        yield forward(f"""
(%x: tensor<?x?x2xf32>, %y: tensor<2xf32>){SIZES}
  %w = edge.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %rows = edge.executorch_prim.mul.Scalar()[%n, %t] {{a = {OPEN} : i64, b = {OPEN} : i64}} : (i64, i64) -> i64
  %0 = edge.view(%x)[%rows] {{size = array<i64: {OPEN}, 2>}} : (tensor<?x?x2xf32>, i64) -> tensor<?x2xf32>
  %1 = edge.{op} -> tensor<?x{columns}xf32>
  %2 = edge.view(%1)[%{first}, %{second}] {{size = array<i64: {OPEN}, {OPEN}, {columns}>}}
       : (tensor<?x{columns}xf32>, i64, i64) -> tensor<?x?x{columns}xf32>
""")


@proves(UnmergeDynamicDimsPass(), at_least=1, readings=OF_TWO)
@disproves(
    "dimensions split in the other order",
    "edge.PermuteOp(self=self.viewed(op, root, sources), dims=order)",
    "edge.PermuteOp(self=self.viewed(op, root, sources), dims=order[::-1])",
)
def test_merged_heads() -> Iterator[str]:
    """Heads that are merged with the batch, and split off behind a transpose."""
    yield forward(f"""
(%x: tensor<?x?x2xf32>){SIZES.replace("%n", "%s").replace("%t", "%n")}
  %nh = edge.executorch_prim.mul.Scalar()[%n] {{a = {OPEN} : i64, b = 2 : i64}} : (i64) -> i64
  %0 = edge.view(%x)[%s, %nh] {{size = array<i64: {OPEN}, {OPEN}, 1>}}
       : (tensor<?x?x2xf32>, i64, i64) -> tensor<?x?x1xf32>
  %1 = edge.transpose.int(%0) {{dim0 = 0 : i64, dim1 = 1 : i64}} : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %2 = edge.view(%1)[%n, %s] {{size = array<i64: {OPEN}, 2, {OPEN}, 1>}}
       : (tensor<?x?x1xf32>, i64, i64) -> tensor<?x2x?x1xf32>
""")
