"""The patterns behind `canonicalize`, a file a dialect. Each op declares its own through a trait."""
