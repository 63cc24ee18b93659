"""Independent implementations that the tests compare with."""
