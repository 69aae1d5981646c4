"""Owns the judgement of rankings: runs, the prime metrics of ARQMath Task 2, and paired comparisons.

Knows nothing of the encoder, the index or the service beyond the JSON lines that any service of this kind speaks, so it
can judge every other system's runs as well. Needs numpy and the standard library.
"""
