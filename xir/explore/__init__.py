"""What a program looks like after each pass, as one HTML page: text, changes, graph, places, costs and times."""

from xir.explore.document import document
from xir.explore.errors import ErrorsError, read_errors
from xir.explore.page import write_page
from xir.explore.profile import ProfileError, read_profile
from xir.explore.recorder import Recorder

__all__ = ["ErrorsError", "ProfileError", "Recorder", "document", "read_errors", "read_profile", "write_page"]
