"""The dialects of xir, imported as `xir.dialects`."""

if __name__ != "xir.dialects":
    raise ImportError("import this package as 'xir.dialects': a second copy of an op class would break isinstance")
