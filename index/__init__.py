"""From a collection to one file and back to ranked formula ids.

Data flows one way: ``corpus`` (rows) -> ``groups`` (one formula a visual group) -> ``embed`` (vectors and n-grams) ->
``plan`` (what fits) -> ``nodes``, ``sketch``, ``ids`` (arrays in, arrays out) -> ``store`` (the file) -> ``search``.
``build`` runs the left side; building and searching meet only in ``store``. Knows nothing of services or judgments.
"""
