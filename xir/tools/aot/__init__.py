"""What `xir-aot` does, a module a step; `arguments`, `source` and `quantization` serve other tools as well."""
