"""The memory benchmark: does a language model use what stands in its context, or only the surface?

Owns the domains and their operators, the generation of cases, reading other producers' files, scoring language models
by log-probability, and the report. Nothing of it is imported by building or serving; `requirements/memory.in` lists the
optional packages of the neural scorers, while generation, the n-gram floor and the report need only numpy and, for
LaTeX, the encoder.
"""
