"""Passes and the pass manager.

A pass is a frozen dataclass: its fields are its options, its docstring is its help, its name comes from its class
(`FuseConvReluPass` is `fuse-conv-relu`), and `apply` does the work on a module in place.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Self, get_origin, get_type_hints

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from xir.ir.analyses import Analysis
from xir.ir.collection import paused_collection
from xir.ir.context import XirContext
from xir.ir.diagnostics import AlreadyReportedError, DiagnosticError, note
from xir.ir.internal_errors import InternalError, op_in_work
from xir.ir.numerics import Numerics
from xir.ir.options import has_no_default, is_option_type, option_text, values_of
from xir.ir.provenance import drop_origins
from xir.ir.remarks import heard_remarks
from xir.ir.time_limit import OutOfTimeError, time_limit
from xir.ir.verifier import verify

if TYPE_CHECKING:
    from xir.ir.rewriting import RewriteCounter


@dataclass(frozen=True)
class XirPass(ModulePass):
    """Base of every pass. Subclasses are `@dataclass(frozen=True)`, named `<Words>Pass`, and define `apply`.

    Option types: `bool`, `int`, `float`, `str`, `Literal["a", "b"]`, `tuple[<one of these>, ...]`, and `... | None`.
    """

    name: ClassVar[str] = ""
    uses_origins: ClassVar[bool] = False
    """Whether the pass needs to know which ops of the program a node is made of (`xir.ir.provenance`)."""
    numerics: ClassVar[Numerics] = Numerics.ROUNDED
    """How far the pass may change a program's results."""
    proved: ClassVar[str] = ""
    """The graphs for which `test/python/proofs` proves with z3 that the pass keeps every value; "" if only tested."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.name = pass_name(cls.__name__)

    preserves: ClassVar[tuple[type[Analysis], ...]] = ()
    """The analyses that still hold after the pass (`ctx.analyses`), by their classes or base classes.

    List `ValueAnalysis` if the pass replaces values by new ones, and no existing value gets another meaning.
    """

    @abstractmethod
    def apply(self, ctx: XirContext, op: ModuleOp) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Transform the module in place. DiagnosticError if the program is at fault; other errors are bugs."""

    @classmethod
    def check_declaration(cls) -> None:
        """TypeError for a pass that does not follow the rules of this class."""
        if inspect.isabstract(cls):
            raise TypeError(f"{cls.__name__} does not define apply")
        types = get_type_hints(cls)
        own = inspect.get_annotations(cls)
        options = {name for name in own if ClassVar not in (types[name], get_origin(types[name]))}
        if undeclared := options - {f.name for f in dataclasses.fields(cls)}:
            raise TypeError(f"{cls.__name__} has the option '{min(undeclared)}', but is not @dataclass(frozen=True)")
        for name in sorted(options):
            if not is_option_type(types[name]):
                raise TypeError(f"an option cannot be {types[name]}, as '{name}' of {cls.__name__} is")

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> Self:
        """The pass with its options given as text, by field name or with dashes. ValueError names what is wrong."""
        return cls(**values_of(cls, options, f"'{cls.name}'"))

    def __str__(self) -> str:
        """The pass as it is written in a pipeline, with the options that differ from their defaults."""
        options = [
            f"{f.name.replace('_', '-')}={option_text(getattr(self, f.name))}"
            for f in dataclasses.fields(self)
            if has_no_default(f) or getattr(self, f.name) != f.default
        ]
        return f"{self.name}{{{' '.join(options)}}}" if options else self.name


def pass_name(class_name: str) -> str:
    """`FuseConvReluPass` -> `fuse-conv-relu`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", class_name.removesuffix("Pass")).lower()


def unregistered_hint(name: str) -> str:
    """What to say of a name that no registered pass has: the class that has it, if a plugin forgot to register one."""
    kinds = [XirPass]
    for kind in kinds:
        kinds += kind.__subclasses__()
    found = [kind for kind in kinds if kind.name == name and not inspect.isabstract(kind)]
    if not found:
        return ""
    missing = found[-1]  # the newest, where a file was loaded twice
    module = sys.modules.get(missing.__module__)
    place = getattr(module, "__file__", None) or missing.__module__
    return f"; {missing.__name__} in {place} is not registered: decorate it with @register_pass of xir.plugin"


class EndlessPassError(DiagnosticError):
    """A pass, or the verifier behind it, that has not ended within the limit of time."""


PassHook = Callable[[XirPass, ModuleOp], None]


@dataclass
class PassManager:
    """Runs passes over a module, in order, verifying in between."""

    ctx: XirContext
    passes: Iterable[XirPass]
    verify_each: bool = True
    """Verify before the first pass and after each one. A pass that breaks the module is found at once."""
    before_pass: list[PassHook] = field(default_factory=list[PassHook])
    after_pass: list[PassHook] = field(default_factory=list[PassHook])
    failed_pass: list[PassHook] = field(default_factory=list[PassHook])
    """Called with the module as a pass left it that failed, or after which the module does not verify."""
    after_verified: list[PassHook] = field(default_factory=list[PassHook])
    """As `after_pass`, behind the verifier, if that runs."""
    restarted: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])
    """Called by who runs the passes once more, with the module as it came."""
    rewrite_counters: dict[str, RewriteCounter] | None = None
    """By the name of a pass, what counts or stops its rewrites; None counts none. Passes get theirs when they run."""
    pass_seconds: float | None = None
    """How long a pass may run; in the main thread alone (`time_limit`). None lets each come to its end."""
    timings: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])
    """Name and wall-clock seconds of each pass and verification so far, in order."""

    def run(self, module: ModuleOp) -> None:
        """Run the passes on `module` in place.

        DiagnosticError for the first failure, EndlessPassError if a pass ran for longer than `pass_seconds`;
        AlreadyReportedError if a pass emitted errors and returned; InternalError if a pass or the verifier raised
        anything else.
        """
        passes = list(self.passes)
        self.ctx.tracks_origins = any(each.uses_origins for each in passes)
        if self.verify_each:
            self._verify(module)
        try:
            with self.paused_collection(), self.ctx.analyses.kept():
                for each in passes:
                    self._run_or_fail(each, module)
        finally:
            if self.ctx.tracks_origins:
                self.ctx.tracks_origins = False
                drop_origins(module)

    def paused_collection(self) -> AbstractContextManager[None]:
        """A pause of Python's collector for all passes; none where hooks run between them, which copy the module for
        each: what they copied has to go meanwhile."""
        hooks = (*self.before_pass, *self.after_pass, *self.after_verified)
        return nullcontext() if hooks else paused_collection()

    def _run_or_fail(self, each: XirPass, module: ModuleOp) -> None:
        """Run one pass; hooks learn of its failure."""
        try:
            self._run_one(each, module)
        except Exception:
            for hook in self.failed_pass:
                hook(each, module)
            raise

    def _run_one(self, each: XirPass, module: ModuleOp) -> None:
        """Run one pass, its hooks and the verifier."""
        for hook in self.before_pass:
            hook(each, module)
        errors_before = self.ctx.diagnostics.error_count
        try:
            with self._counting(each), self._heard(each):
                self._timed(each.name, f"pass '{each.name}'", module, lambda: each.apply(self.ctx, module))
        except PassFailedException as error:
            raise DiagnosticError(module, f"{each.name}: {error}") from error
        if self.ctx.diagnostics.error_count > errors_before:
            raise AlreadyReportedError(each.name)
        self.ctx.analyses.invalidate(each.preserves)
        for hook in self.after_pass:
            hook(each, module)
        if self.verify_each:
            self._verify_after(each, module)
        for hook in self.after_verified:
            hook(each, module)

    def _counting(self, each: XirPass) -> AbstractContextManager[None]:
        if self.rewrite_counters is None:
            return nullcontext()
        # Imported here, since a pass without patterns does without the driver, and so does a tool that runs no pass.
        from xir.ir.rewriting import RewriteCounter, counted_rewrites

        return counted_rewrites(self.rewrite_counters.setdefault(each.name, RewriteCounter()))

    def _heard(self, each: XirPass) -> AbstractContextManager[None]:
        wanted = self.ctx.remark_filter
        return nullcontext() if wanted is None else heard_remarks(self.ctx.diagnostics, wanted, each.name)

    def _verify_after(self, each: XirPass, module: ModuleOp) -> None:
        try:
            self._verify(module)
        except DiagnosticError as error:
            found = error.diagnostic
            notes = (*found.notes, note(found.location, f"the module does not verify after {each.name}"))
            raise DiagnosticError(found.location, found.message, notes) from error

    def _verify(self, module: ModuleOp) -> None:
        self._timed("verifier", "the verifier", module, lambda: verify(module, self.ctx.verified))

    def _timed(self, name: str, step: str, module: ModuleOp, work: Callable[[], None]) -> None:
        """Do a step's work on the module."""
        start = time.perf_counter()
        try:
            with paused_collection(), time_limit(self.pass_seconds):
                work()
        except (DiagnosticError, AlreadyReportedError, PassFailedException):
            raise
        except OutOfTimeError as error:
            where = op_in_work(error, module)
            raise EndlessPassError(where, f"{step} has not ended after {self.pass_seconds:g} s") from None
        except MemoryError as error:
            # A few characters of text may stand for a constant of any size, which is no bug of a pass.
            message = " ".join(f"{step} needs more memory than there is: {error}".rstrip(": ").split())
            raise DiagnosticError(op_in_work(error, module), message) from error
        except Exception as error:
            raise InternalError.in_step(step, error, module) from error
        finally:
            self.timings.append((name, time.perf_counter() - start))
