"""Take the pictures in the pages, docs/images/, from the real tools in Chromium: `make screenshots`.

explorer.png    the page of `xir-aot --explore` for MobileNetV2 in int8: its graph, coloured by multiply-adds, with a
                convolution chosen. It has no times, which would be those of the machine at that moment
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from explore.browser import Browser

BIN = Path(sys.executable).parent
IMAGES = Path(__file__).parents[3] / "docs" / "images"


def explorer(folder: Path) -> None:
    """Compile, and open the page."""
    arguments = ("--model_name", "mv2", "--quantize", "--delegate", "--explore", "page.html")
    subprocess.run([BIN / "xir-aot", *arguments], cwd=folder, check=True)
    with Browser(width=1400, height=820) as browser:
        browser.open(folder / "page.html")
        browser.run("$('colours').value = 'macs'; $('colours').dispatchEvent(new Event('change'))")
        browser.type("#search", "xnnpack.conv2d 1x112x112x96\ue007")
        browser.screenshot(IMAGES / "explorer.png")


def main() -> None:
    """Take all pictures."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        explorer(Path(folder))


if __name__ == "__main__":
    main()
