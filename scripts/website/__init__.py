"""How the pages of the repository become the site that `make site` builds. Nothing here imports xir."""
