"""The verbs, one module each, in the order in which a newcomer meets them."""

from __future__ import annotations

from command.grammar import Verb
from command.verbs import build, collect, completion, evaluate, inspect, pin, reference, search, serve

VERBS: tuple[Verb, ...] = (
    collect.VERB,
    build.VERB,
    search.VERB,
    serve.VERB,
    evaluate.VERB,
    inspect.VERB,
    pin.VERB,
    completion.VERB,
    reference.VERB,
)
