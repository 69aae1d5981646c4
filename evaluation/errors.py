"""The one exception of this package; the command line turns it into one line and exit status 2."""


class EvaluationError(ValueError):
    """An input that cannot be used. The message is one line naming the file, line or field and what was expected."""
