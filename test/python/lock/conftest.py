"""`xir-aot` in a folder of the test's own, as in `api`."""

from api.conftest import aot, folder

__all__ = ["aot", "folder"]
