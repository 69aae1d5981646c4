"""Language models behind one interface: text before, options after, log-probabilities out.

`base` holds the interface and everything that backends share; each backend is one file; `registry` finds
one by its name.
"""
