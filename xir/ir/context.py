"""The context: which dialects there are, the constant data, and where diagnostics go."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context

from xir.ir.analyses import AnalysisManager
from xir.ir.attribute_numbers import AttributeNumbers
from xir.ir.blobs import BlobStore
from xir.ir.diagnostics import DiagnosticEngine
from xir.ir.remarks import RemarkFilter
from xir.ir.verifier import VerifiedKinds


@dataclass
class XirContext(Context):
    """An xDSL context that knows xir's dialects, loads each on first use, and owns one module's blobs."""

    blobs: BlobStore = field(default_factory=BlobStore)
    """The bytes behind every `dense_resource` of the modules in this context."""

    diagnostics: DiagnosticEngine = field(default_factory=DiagnosticEngine)
    """Where passes report to."""

    remark_filter: RemarkFilter | None = None
    """Which remarks of passes are wanted, besides those that nobody has to ask for; None wants none."""

    analyses: AnalysisManager = field(default_factory=AnalysisManager)
    """The analyses that are cached for the modules."""

    external_resources: dict[str, dict[str, str | bool]] = field(default_factory=dict[str, dict[str, "str | bool"]])
    """What `{-# external_resources #-}` of a text said, such as the pipeline of a crash reproducer."""

    verified: VerifiedKinds = field(default_factory=VerifiedKinds)
    """The kinds of ops that were verified in its modules, and in those of contexts that it is a clone of."""

    tracks_origins: bool = False
    """Whether a pass of the current pipeline needs to know which ops of the program a node was made of."""

    @property
    def attribute_numbers(self) -> AttributeNumbers:
        """Numbers for the attributes of its modules, which passes and the verifier share."""
        return self.verified.numbers

    def __post_init__(self) -> None:
        from xir.dialects.registry import DIALECTS
        from xir.ir.builtin import make_builtin

        if self._registered_dialects:
            return
        self.register_dialect("builtin", lambda: make_builtin(self.blobs))
        for name, factory in DIALECTS.items():
            self.register_dialect(name, factory)

    def clone(self) -> XirContext:
        """A context with the same dialects available and the same blobs; each may then change its own set."""
        clone = XirContext(
            self.allow_unregistered, blobs=self.blobs.clone(), diagnostics=self.diagnostics, verified=self.verified
        )
        for name in self._registered_dialects.keys() - clone._registered_dialects.keys():
            clone.register_dialect(name, self._registered_dialects[name])
        return clone
