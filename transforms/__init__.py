"""The passes of xir, imported as `xir.transforms`."""

if __name__ != "xir.transforms":
    raise ImportError("import this package as 'xir.transforms': a second copy of a pass class would break isinstance")
