"""What is wrong with a model that was asked for."""


class ModelError(ValueError):
    """A name that the zoo does not have, or weights that do not fit; the message is for the user."""
