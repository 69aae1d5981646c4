"""The errors of this package. Each message is one line naming file and place and what was expected."""


class FormdexError(ValueError):
    """What every error of this package is; the command line turns it into one line and exit status 2."""


class CorpusError(FormdexError):
    """The collection cannot be read as one."""


class PlanError(FormdexError):
    """The collection does not fit the bytes it may take."""


class BuildError(FormdexError):
    """The build cannot run where or how it was asked to."""


class StoreError(FormdexError):
    """An index file is missing, foreign, damaged, or made by another version or model."""
