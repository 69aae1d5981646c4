"""Owns the search service: JSON lines in on stdin, one JSON line out on stdout for each.

`protocol` turns lines into messages and answers into lines and does nothing else; `session` holds the open index and
answers one line at a time; `lines` reads bounded lines from a descriptor; `jsonl` is the process around them, started
by `serve.sh`. The index is reached only through `session.SearchIndex` and imported when the first load asks for it.
Needs the standard library alone.
"""
