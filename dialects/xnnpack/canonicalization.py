"""Which simplifications belong to which op; the patterns are in `dialects/xnnpack/canonicalization_patterns.py`."""

from __future__ import annotations

from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import HasCanonicalizationPatternsTrait


class TransposePatterns(HasCanonicalizationPatternsTrait):
    """Of `xnnpack.static_transpose`."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from xir.dialects.xnnpack.canonicalization_patterns import ComposeTransposes, DropIdentityTranspose

        return DropIdentityTranspose(), ComposeTransposes()


class ReshapePatterns(HasCanonicalizationPatternsTrait):
    """Of `xnnpack.static_reshape`."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from xir.dialects.xnnpack.canonicalization_patterns import ComposeReshapes, DropIdentityReshape

        return DropIdentityReshape(), ComposeReshapes()


class ClampPatterns(HasCanonicalizationPatternsTrait):
    """Of `xnnpack.clamp`."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from xir.dialects.xnnpack.canonicalization_patterns import DropUnboundedClamp

        return (DropUnboundedClamp(),)


class ConvertPatterns(HasCanonicalizationPatternsTrait):
    """Of `xnnpack.convert`."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from xir.dialects.xnnpack.canonicalization_patterns import DropIdentityConvert

        return (DropIdentityConvert(),)


class BatchMatrixMultiplyPatterns(HasCanonicalizationPatternsTrait):
    """Of `xnnpack.batch_matrix_multiply`."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from xir.dialects.xnnpack.canonicalization_patterns import TransposeByFlag

        return (TransposeByFlag(),)
