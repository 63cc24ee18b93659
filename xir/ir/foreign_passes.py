"""xDSL's passes in xir's pass manager, and xir's in xDSL's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Self

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, ParameterListType
from xdsl.utils.exceptions import PassFailedException

from xir.ir.context import XirContext
from xir.ir.diagnostics import AlreadyReportedError, DiagnosticError
from xir.ir.passes import XirPass


def adapted(make: Callable[[], type[ModulePass]]) -> Callable[[], type[XirPass]]:
    """A factory of the XirPass that runs a pass of xDSL. Its options are read as xDSL reads them."""

    def load() -> type[XirPass]:
        foreign = make()

        @dataclass(frozen=True)
        class AdaptedPass(XirPass):
            inner: ModulePass = field(default_factory=foreign)

            def apply(self, ctx: XirContext, op: ModuleOp) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
                self.inner.apply(ctx, op)

            @classmethod
            def from_options(cls, options: Mapping[str, str]) -> Self:
                args: dict[str, ParameterListType] = {
                    name: tuple(text.split(",")) if text else () for name, text in options.items()
                }
                return cls(foreign.from_spec(ArgSpec(foreign.name, args)))

        AdaptedPass.name = foreign.name
        AdaptedPass.__doc__ = foreign.__doc__
        return AdaptedPass

    return load


def for_xdsl(make: Callable[[], type[XirPass]]) -> Callable[[], type[ModulePass]]:
    """A factory of the same pass for contexts of xDSL, in which resources have no data."""

    def load() -> type[ModulePass]:
        own = make()

        class ForXdsl(own):
            def apply(self, ctx: Context, op: ModuleOp) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
                with_blobs = ctx if isinstance(ctx, XirContext) else XirContext(ctx.allow_unregistered)
                try:
                    super().apply(with_blobs, op)
                except (DiagnosticError, AlreadyReportedError) as error:
                    raise PassFailedException(str(error)) from error

        ForXdsl.name = own.name
        ForXdsl.__doc__ = own.__doc__
        return ForXdsl

    return load
