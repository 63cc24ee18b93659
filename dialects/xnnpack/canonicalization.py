"""Which simplifications belong to which op; the patterns are in `transforms/canonicalization_patterns/xnnpack.py`."""

from __future__ import annotations

from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import HasCanonicalizationPatternsTrait


class TransposePatterns(HasCanonicalizationPatternsTrait):
    """Of `xnnpack.static_transpose`."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from xir.transforms.canonicalization_patterns.xnnpack import ComposeTransposes, DropIdentityTranspose

        return DropIdentityTranspose(), ComposeTransposes()


class ReshapePatterns(HasCanonicalizationPatternsTrait):
    """Of `xnnpack.static_reshape`."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from xir.transforms.canonicalization_patterns.xnnpack import ComposeReshapes, DropIdentityReshape

        return DropIdentityReshape(), ComposeReshapes()


class ClampPatterns(HasCanonicalizationPatternsTrait):
    """Of `xnnpack.clamp`."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from xir.transforms.canonicalization_patterns.xnnpack import DropUnboundedClamp

        return (DropUnboundedClamp(),)


class ConvertPatterns(HasCanonicalizationPatternsTrait):
    """Of `xnnpack.convert`."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from xir.transforms.canonicalization_patterns.xnnpack import DropIdentityConvert

        return (DropIdentityConvert(),)


class BatchMatrixMultiplyPatterns(HasCanonicalizationPatternsTrait):
    """Of `xnnpack.batch_matrix_multiply`."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from xir.transforms.canonicalization_patterns.xnnpack import TransposeByFlag

        return (TransposeByFlag(),)
