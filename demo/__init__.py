"""Shows the whole of Formdex on formulas that any machine can install: the docstrings of scientific Python packages.

``gather`` turns downloaded wheels into a collection, ``show`` asks the service a few queries and prints the answers.
Stands above ``collect``, ``service`` and ``evaluation`` (whose client it uses); nothing imports it.
"""
