"""`--load-plugin`, and xDSL's universes both ways."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint, distributions
from pathlib import Path

import pytest
from reference.tools import Tool
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.universe import Universe

from xir import plugin_loading
from xir.tools.xir_opt import main
from xir.transforms.registry import PASSES
from xir.transforms.xnnpack.legalizations.rule import RULES

PLUGIN = '''
from dataclasses import dataclass
from xir.plugin import XirPass, register_pass, register_pipeline

@register_pass
@dataclass(frozen=True)
class SayHelloPass(XirPass):
    """Greet."""

    name_of: str = "you"
    """Whom."""

    def apply(self, ctx, op):
        ctx.diagnostics.remark(op, f"hello {self.name_of}")

register_pipeline("politely", "say-hello{name-of=all},canonicalize")
'''


SIGMOID = """
from xir.dialects import edge
from xir.plugin import NodeBuilder, rule

@rule({})
def nodes(op: edge.SiluOp, b: NodeBuilder):
    return b.unary("sigmoid", op.self)
"""

DECOMPOSED = """
from xir.dialects import edge
from xir.plugin import EdgeBuilder, decomposition, replacing_decomposition

@{}
def kernels(op: edge.SiluOp, b: EdgeBuilder):
    return b.call(edge.SigmoidOp, self=op.self)
"""


pytestmark = pytest.mark.usefixtures("registries")


def test_a_file_adds_flags(tmp_path: Path, module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plugin = tmp_path / "hello.py"
    plugin.write_text(PLUGIN, encoding="utf-8")
    opt = Tool(main, capsys)
    opt(f"--load-plugin {plugin} --politely --say-hello {module}")
    assert "remark: hello all\n" in opt.err
    assert "remark: hello you\n" in opt.err
    listing = opt(f"--list-passes --load-plugin={plugin}")
    assert "--say-hello\n      Greet.\n      name-of=<str> (default: 'you'): Whom.\n" in listing
    assert "--politely\n      say-hello{name-of=all},canonicalize\n" in listing
    assert "--say-hello" in opt(f"--help --load-plugin={plugin}")


def registering(schema: str, *arguments: str) -> str:
    """A plugin that registers an op `own::f…` with annotations."""
    start = "from xdsl.ir import SSAValue\nfrom xir.plugin import EdgeOp, register_op"
    return "\n    ".join([f"{start}\n@register_op('own::f{schema}')\nclass FOp(EdgeOp):", *arguments])


SELF = "self: SSAValue"
EXISTING = "from xir.plugin import register_dialect\nregister_dialect('edge', None)"
UNTYPED = "from xir.plugin import rule\n@rule()\ndef f(op, b): ..."
RULE, ANOTHER = SIGMOID.format(""), SIGMOID.format("replaces=True")
KERNELS, OTHERS = DECOMPOSED.format("decomposition"), DECOMPOSED.format("replacing_decomposition")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "FileNotFoundError: there is no file"),
        ("def f():\n    1 / 0\nf()", "ZeroDivisionError: division by zero ({path}:2)"),
        ("raise SystemExit(0)", "SystemExit: 0 ({path}:1)"),
        ("import not_there", "ModuleNotFoundError: No module named 'not_there' ({path}:1)"),
        ("def f(:", "SyntaxError: "),
        ("from xir.plugin import nothing", "ImportError: cannot import name 'nothing' from 'xir.plugin'"),
        (PLUGIN.replace("@dataclass(frozen=True)\n", ""),
         "SayHelloPass has the option 'name_of', but is not @dataclass(frozen=True)"),
        (PLUGIN.replace("def apply", "def aply"), "SayHelloPass does not define apply"),
        (PLUGIN.replace("(XirPass)", ""), "SayHelloPass has to derive from XirPass ({path}:"),
        (PLUGIN.replace(': str = "you"', ": dict[str, int]"), "an option cannot be dict[str, int], as 'name_of' of"),
        (PLUGIN.replace("SayHello", "Canonicalize"), "there is a pass or pipeline 'canonicalize' already"),
        (PLUGIN.replace("politely", "delegate"), "there is a pass or pipeline 'delegate' already"),
        (EXISTING, "there is a dialect 'edge' already"),
        (registering("(Tensor self) -> Tensor", SELF).replace("own::f", "aten::abs"),
         "there is an op 'edge.abs' already"),
        (registering("(Tensor self, float x) -> Tensor", SELF, "x: int"), "FOp should have 'x: float', as own::f has"),
        (registering("(Tensor self, int x=2) -> Tensor", SELF, "x: int = 3"),
         "FOp should have 'x: int = 2', as own::f has"),
        (registering("(Tensor self) -> Tensor", SELF, "y: int"), "FOp has 'y', which is no argument of own::f"),
        (registering("(Tensor operands) -> Tensor", "operands: SSAValue"),
         "own::f has an argument 'operands', which is something else of every op"),
        (UNTYPED, "f: the first parameter needs an annotation, the op classes it is for"),
        (registering("(Tensr self) -> Tensor", SELF), "an argument 'self' of type 'Tensr': an op takes"),
        (registering(" Tensor self", SELF), "expected 'namespace::name.overload(' at column 1 of schema"),
        (RULE.replace(", b: NodeBuilder", ""), "nodes has to take 2 parameters, (op, b) ({path}:"),
        (KERNELS.replace(", b: EdgeBuilder", ", b: EdgeBuilder, c: int"), "kernels has to take 2 parameters, (op, b)"),
        (RULE, "edge.silu has a rule already; @rule(replaces=True) takes its place"),
        (ANOTHER.replace("Silu", "Nonzero"), "edge.nonzero has no rule that another could replace"),
        (KERNELS, "edge.silu has a decomposition already; @replacing_decomposition takes its place"),
        (OTHERS.replace("Silu", "Abs"), "edge.abs has no decomposition that another could replace"),
    ],
)  # fmt: skip
def test_a_bad_plugin_is_one_line(
    text: str | None, message: str, tmp_path: Path, module: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.py"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    line = Tool(main, capsys).refuse(f"--load-plugin={path} {module}")
    assert line.startswith(f"xir-opt: error: cannot load the plugin '{path}': ")
    assert message.format(path=path) in line


@pytest.mark.parametrize("asked", ["--say-hello", "--say-hello=name-of=all", "--pass-pipeline=cse,say-hello"])
def test_a_pass_that_is_not_registered_is_told(
    asked: str, tmp_path: Path, module: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin = tmp_path / "forgetful.py"
    plugin.write_text(PLUGIN.replace("@register_pass\n", "").partition("register_pipeline(")[0], encoding="utf-8")
    line = Tool(main, capsys).refuse(f"--load-plugin {plugin} {asked} {module}")
    told = f"; SayHelloPass in {plugin} is not registered: decorate it with @register_pass of xir.plugin\n"
    assert line.endswith(told)


@pytest.mark.parametrize("name", ["json", "hello"])
def test_a_file_may_be_called_as_another_module(tmp_path: Path, module: Path, name: str) -> None:
    """Neither module is mistaken for the other, nor are two files of one name in two folders."""
    other = sys.modules.get(name)
    for folder in ("one", "two"):
        path = tmp_path / folder / f"{name}.py"
        path.parent.mkdir()
        text = PLUGIN.replace("SayHello", f"SayHello{folder.title()}").replace("politely", folder)
        path.write_text("from __future__ import annotations\n" + text.replace("say-hello", f"say-hello-{folder}"))
    plugins = [f"--load-plugin={tmp_path / folder / name}.py" for folder in ("one", "two")]
    assert main([*plugins, "--say-hello-one=name-of=me", "--two", str(module)]) == 0
    assert sys.modules.get(name) is other


def test_replaced_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plugin = tmp_path / "sigmoid.py"
    plugin.write_text(ANOTHER + OTHERS, encoding="utf-8")
    path = tmp_path / "in.mlir"
    path.write_text(
        "func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %0 = edge.silu(%x) : (tensor<4xf32>) -> tensor<4xf32>\n"
        "  func.return %0 : tensor<4xf32>\n}\n",
        encoding="utf-8",
    )
    opt = Tool(main, capsys)
    said = opt(f"--load-plugin={plugin} --delegate {path}")
    assert "xnnpack.unary sigmoid" in said
    assert "xnnpack.binary multiply" not in said
    assert RULES["edge.silu"].quantized is None, "nothing is left of what was said of the other rule"
    said = opt(f"--decompose-for-kernels {path}")
    assert "edge.sigmoid" in said
    assert "edge.mul" not in said
    for text, what in ((ANOTHER, "rule"), (OTHERS, "decomposition")):
        other = tmp_path / f"other_{what}.py"
        other.write_text(text, encoding="utf-8")
        assert f"the {what} of edge.silu has been replaced already" in opt.refuse(f"--load-plugin={other} {path}")


def test_a_plugin_without_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    told = Tool(main, capsys).refuse("--load-plugin")
    assert told == "xir-opt: error: --load-plugin takes FILE.py or a module's name\n"


class CountingPass(ModulePass):
    """Count ops."""

    name = "count-them"
    counted = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        CountingPass.counted = len(list(op.walk()))


@pytest.mark.parametrize(
    ("package", "declared", "expected"),
    [
        ("some-1.0.dist-info", "[xir.plugins]\nsome = some.module\n", True),
        ("some.egg-info", "[console_scripts]\nsome = some:main\n\n[xdsl.universe]\nsome = some:UNIVERSE\n", True),
        ("some-1.0.dist-info", "[console_scripts]\nsome = some:main\n", False),
        ("some-1.0.dist-info", None, False),
        ("xdsl-0.66.0.dist-info", "[xdsl.universe]\nxdsl = xdsl.universe:XDSL_UNIVERSE\n", False),
    ],
)
def test_packages_that_may_declare_plugins(tmp_path: Path, package: str, declared: str | None, expected: bool) -> None:
    (tmp_path / package).mkdir()
    if declared is not None:
        (tmp_path / package / "entry_points.txt").write_text(declared, encoding="utf-8")
        found = [entry.group for entry in entry_points_in(tmp_path)]
        assert expected == (
            bool({plugin_loading.GROUP, plugin_loading.UNIVERSES} & set(found)) and "xdsl-" not in package
        )
    assert plugin_loading.may_declare_plugins(str(tmp_path)) is expected


def test_what_is_no_folder_may_declare_plugins(tmp_path: Path) -> None:
    archive = tmp_path / "packages.zip"
    archive.write_bytes(b"")
    assert plugin_loading.may_declare_plugins(str(archive))
    assert not plugin_loading.may_declare_plugins(str(tmp_path / "missing.zip"))


def entry_points_in(folder: Path) -> Iterator[EntryPoint]:
    """The entry points of a folder's packages, as `importlib.metadata` finds them."""
    for distribution in distributions(path=[str(folder)]):
        yield from distribution.entry_points


UNIVERSE = Universe(all_passes={"count-them": lambda: CountingPass, "cse": lambda: CountingPass})


def test_passes_of_other_universes(monkeypatch: pytest.MonkeyPatch, module: Path) -> None:
    entry = EntryPoint("other", f"{__name__}:UNIVERSE", plugin_loading.UNIVERSES)
    monkeypatch.setattr(EntryPoint, "load", lambda self: UNIVERSE)  # pyright: ignore[reportUnknownLambdaType]
    before = PASSES["cse"]
    plugin_loading._register_universe(entry)  # pyright: ignore[reportPrivateUsage]
    assert PASSES["cse"] is before, "xir's own stay"
    assert main(["--count-them", str(module)]) == 0
    assert CountingPass.counted == 3


def test_xirs_passes_in_xdsl_opt(tmp_path: Path) -> None:
    source = Path(__file__).parents[2] / "lit" / "transforms" / "fuse-conv-relu.mlir"
    code = source.read_text(encoding="utf-8").split("// -----")[0]
    path = tmp_path / "in.mlir"
    path.write_text(code, encoding="utf-8")
    command = [str(Path(sys.executable).with_name("xdsl-opt")), "-p", "fuse-conv-relu,propagate-layout", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "xnnpack.clamp" in code
    assert "output_min" in done.stdout
