r"""The structure of the canonical form: groups, arguments, scripts, infix fractions, fences.

``Structure`` takes tokens one by one and decides where braces stand. Its output grows at the end only; every open group
keeps a slot in it for what opens the group, since that is known only when the group ends.
"""

from __future__ import annotations

from encoder.spelling import FENCES

LONGEST_SWAP = 256  # tokens of a superscript that may move behind its subscript; keeps the pass linear
MOST_SLOTS = 40  # pieces of output in which a group of one token is looked for; keeps the pass linear
PRIME = r"\prime"

# Kinds of open groups. The last two have no brace of their own and end with the argument that they wait for: a command
# that is itself an argument (x^\frac12), and a superscript after primes, which joins them (f'^2 is f^{\prime 2}).
PLAIN, ARGUMENT, OPTION, IMPLICIT, PRIMED = range(5)
_Script = tuple[int, str, tuple[int, int] | None]  # its place in the output, ^ or _, the superscripts before it
# kind, what closes it, its slot, and of the level outside: missing arguments, script, denominator's slot
_Group = tuple[int, str, int, int, _Script | None, int]


class Structure:
    """The canonical form under construction."""

    def __init__(self) -> None:
        self.out: list[str] = [""]
        self.stack: list[_Group] = []
        self.need = 0  # arguments that the command before still expects on this level
        self.script: _Script | None = None  # the script whose argument comes next
        self.infix = -1  # where the slot of this level's denominator is
        self.fence = ""  # a fence command that waits for its argument
        self.grids = 0  # open grids, in which & separates cells
        self.swap: tuple[int, int] | None = None  # finished superscripts [from, to) that a subscript may follow

    def atom(self, token: str) -> None:
        """Append one token that is complete in itself."""
        self.swap = None
        if self.fence:
            left, right = FENCES[self.fence]
            self.fence = ""
            self.out += (left, token, right)
        else:
            self.out.append(token)
        if self.need:
            self.need -= 1
            if not self.need:
                self.settle()

    def several(self, tokens: list[str]) -> None:
        """Append tokens that belong together: where an argument is due they are one."""
        if len(tokens) == 1:
            self.atom(tokens[0])
        elif self.need or (self.fence and tokens):
            self.brace()
            self.out += tokens
            self.close()
        elif tokens:
            self.swap = None
            self.out += tokens

    def command(self, token: str, arity: int) -> None:
        """Append a command that takes arguments; where an argument is due, it and its own arguments are one."""
        if self.fence:
            left, right = FENCES[self.fence]
            self.fence = ""
            self.out.append(left)
            self.open(IMPLICIT, right)
        elif self.need:
            self.open(IMPLICIT)
        self.swap = None
        self.out.append(token)
        self.need = arity

    def begin_fence(self, command: str) -> None:
        r"""``\abs`` and its kin: the next argument stands between delimiters."""
        if self.need:
            self.open(IMPLICIT)
            self.need = 1
        self.fence = command

    def settle(self) -> None:
        """An argument is complete: so may be its script or command, and the ones whose argument these are."""
        while not self.need:
            if self.script is not None:
                self.finish_script()
            if not self.stack or self.stack[-1][0] < IMPLICIT:
                return
            self._end_group()

    def begin_script(self, kind: str) -> None:
        """``^`` or ``_``: the next argument belongs to it."""
        if self.need:  # a command still waits for its argument: broken input, kept as it stands
            self.out.append(kind)
            return
        before, self.swap, self.fence = self.swap, None, ""
        primes = self._primes(before[0]) if before is not None and kind == "^" else 0
        if before is not None and primes:
            del self.out[before[0] :]
            before = None
        self.script = (len(self.out), kind, before)
        self.out.append(kind)
        self.need = 1
        if primes:
            self.open(PRIMED)
            self.out += [PRIME] * primes
            self.need = 1

    def _primes(self, start: int) -> int:
        """How many primes stand from there to the end of the output, if nothing else does."""
        rest = self.out[start : start + MOST_SLOTS]
        alone = len(self.out) - start <= MOST_SLOTS and {"", "^", "{", "}", PRIME}.issuperset(rest)
        return rest.count(PRIME) if alone else 0

    def finish_script(self) -> None:
        """A script's argument is complete: put a subscript before the superscripts that it follows."""
        if self.script is None:
            return
        (at, kind, before), self.script = self.script, None
        out = self.out
        joined = before is not None and before[1] == at
        start = before[0] if before is not None and joined else at
        if out[-1] == "}" and len(out) - at <= MOST_SLOTS and "".join(out[at + 1 :]) == "{}":
            del out[at:]  # an empty script changes nothing
            self.swap = before
        elif kind == "^":
            self.swap = (start, len(out))
        elif joined and len(out) - start <= LONGEST_SWAP:
            self.swap = (start + len(out) - at, len(out))
            out[start:] = out[at:] + out[start:at]

    def prime(self, count: int) -> None:
        """Apostrophes: a superscript of as many primes, or as many primes where they already stand in one."""
        primes = [PRIME] * count
        if self.stack and self.stack[-1][:3] == (ARGUMENT, "", len(self.out) - 1):
            script = self.stack[-1][4]
            if script is not None and script[1] == "^":
                self.out += primes
                return
        if not self.need:
            self.begin_script("^")
        self.several(primes)

    def open(self, kind: int, closing: str = "") -> None:
        """Open a group; what this level still waits for waits on the stack."""
        self.stack.append((kind, closing, len(self.out), self.need, self.script, self.infix))
        self.out.append("")
        self.need, self.script, self.infix, self.swap = 0, None, -1, None

    def brace(self) -> None:
        """``{``: an argument of the command before, the argument of a fence, or a group without effect."""
        if self.fence:
            left, right = FENCES[self.fence]
            self.fence = ""
            self.grids += "matrix" in left
            self.out.append(left)
            self.open(ARGUMENT, right)
        else:
            self.open(ARGUMENT if self.need and not (self.stack and self.stack[-1][0] == PRIMED) else PLAIN)

    def unbrace(self) -> None:
        """``}``: ends the innermost group with a brace, and those without one inside; a stray one is nothing."""
        while self.stack and self.stack[-1][0] >= OPTION:
            self.close()
        if self.stack:
            self.close()
        self.fence = ""

    def close(self) -> None:
        """End the innermost group, and what it completes."""
        self._end_group()
        self.settle()

    def _end_group(self) -> None:
        """End the innermost group and return to the level outside, where it counts as one argument."""
        kind, closing, slot, need, script, infix = self.stack.pop()
        if kind != PLAIN or self.infix >= 0:
            self.swap = None
        self.end_infix()
        if closing:
            self.grids -= "matrix" in closing and kind == ARGUMENT
            self.out.append(closing)
        elif kind != PLAIN and not self._single(slot):
            self.out[slot] = "{ " + self.out[slot] if self.out[slot] else "{"
            self.out.append("}")
        self.need, self.script, self.infix, self.fence = max(0, need - 1), script, infix, ""

    def _single(self, slot: int) -> bool:
        """Is what follows the slot one token, beside the empty slots of inner groups?"""
        pieces = self.out[slot : slot + MOST_SLOTS + 1]
        return len(pieces) <= MOST_SLOTS and sum(len(piece.split()) for piece in pieces) == 1

    def begin_infix(self, operator: str) -> None:
        r"""``\over`` and its kin: what stands before in this group is the first argument, what follows the second."""
        while self.stack and self.stack[-1][0] >= IMPLICIT:
            self.close()
        if self.infix >= 0:  # TeX calls a second one ambiguous: ignored
            return
        slot = self.stack[-1][2] if self.stack else 0
        if self._single(slot):
            self.out[slot] = operator
        else:
            self.out[slot] = operator + " {"
            self.out.append("}")
        self.infix = len(self.out)
        self.out.append("")
        self.need, self.script, self.swap, self.fence = 0, None, None, ""

    def end_infix(self) -> None:
        """Close the denominator of an infix fraction of the innermost group."""
        if self.infix >= 0 and not self._single(self.infix):
            self.out[self.infix] += " {"
            self.out.append("}")
        self.infix = -1

    def finish(self) -> list[str]:
        """Close what is open and return the tokens."""
        while self.stack:
            self.close()
        self.end_infix()
        return " ".join(self.out).split()
