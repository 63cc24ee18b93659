"""Functions that have the name of their own module, such as `xir.llm.export`, which Griffe takes for the module."""

from typing import Any

from griffe import Alias, Extension  # pyright: ignore[reportMissingImports]

SHADOWED = ("xir.quantizer.quantize", "xir.llm.export", "xir.llm.perplexity")


class Shadows(Extension):  # pyright: ignore[reportUntypedBaseClass]
    """Puts the function where the package's import puts it. Griffe calls this for each package that it has read."""

    def on_package(self, *, pkg: Any, **others: Any) -> None:
        """Put the functions of a package in their modules' places."""
        for path in SHADOWED:
            package, _, name = path.removeprefix(f"{pkg.name}.").rpartition(".")
            function = pkg[f"{package}.{name}.{name}"]
            pkg[package].set_member(name, Alias(name, function, parent=pkg[package]))
