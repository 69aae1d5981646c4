"""The command line ``./formdex``: one small module a verb, over the packages that do the work.

Owns what a person meets: the grammar and its help (``grammar``), the verbs (``verbs``), where a folder's index lies
(``folders``), what a repeated build need not encode again (``vectors``), what a query is (``queries``), how results are
printed (``output``), and what is generated from the grammar: shell completion and the reference (``completion``,
``reference``). It ranks, reads and builds nothing itself. A verb is a ``grammar.Verb``; heavy imports happen when it
runs, so that help and completion answer at once.
"""
