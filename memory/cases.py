"""Cases as data: what a case and a file of cases hold, and how files are named.

Every producer's file becomes these values (`memory.files`); scoring and the report know nothing else.
"""

import hashlib
import re
from dataclasses import dataclass, field

from memory.errors import MemoryBenchmarkError

RET, COM, REV = "MemoryRet", "MemoryCom", "MemoryRev"
CORRECT = "correct"
TYPES = {
    RET: (CORRECT, "retrieval_similar", "random_wrong"),
    COM: (CORRECT, "surface_similar", "wrong_rule", "random_wrong"),
    REV: (CORRECT, "retrieval_similar", "old_rule", "random_wrong"),
}
"""The types of the options of each task; the correct one comes first."""
LABELS = "ABCDEFGHIJ"


@dataclass(frozen=True)
class Option:
    """An answer to choose from, and of which kind it is."""

    label: str
    type: str
    text: str


@dataclass(frozen=True)
class Case:
    """One question.

    Attributes:
        id: unique in its file.
        context: definitions and examples, without the query; may be empty.
        query: what the answer continues.
        options: in the order of their labels.
        answer: the label of the correct one.
        trace: how the generator made it (names of operators and the like); {} for other producers' cases.
    """

    id: str
    context: str
    query: str
    options: tuple[Option, ...]
    answer: str
    trace: dict[str, object] = field(default_factory=dict)

    def prompt(self, control: bool = False) -> str:
        """The text before the option; as a control, the query without the context."""
        return self.query if control or not self.context else f"{self.context}\n{self.query}"

    def digest(self) -> str:
        """16 hex digits that change with anything a score depends on."""
        parts = [self.context, self.query, self.answer]
        parts += [part for option in self.options for part in (option.label, option.type, option.text)]
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True)
class Setting:
    """What a file name says: `{domain}_{task}_[k{K}_][editk{editK}_]M{M}_que_ans.json`.

    Attributes:
        domain: any name without a slash.
        task: a key of `TYPES`.
        m: examples in the context.
        k: operators of the query; None where the name does not say.
        edit_k: operators revised; None where the name does not say.
    """

    domain: str
    task: str
    m: int
    k: int | None = None
    edit_k: int | None = None

    @property
    def stem(self) -> str:
        """The file's name without `_que_ans.json`."""
        k = "" if self.k is None else f"k{self.k}_"
        edit = "" if self.edit_k is None else f"editk{self.edit_k}_"
        return f"{self.domain}_{self.task}_{k}{edit}M{self.m}"

    @property
    def file_name(self) -> str:
        """The file's name."""
        return f"{self.stem}_que_ans.json"


_NAME = re.compile(rf"([^/]+?)_({'|'.join(TYPES)})_(?:k(\d+)_)?(?:editk(\d+)_)?M(\d+)_que_ans\.json")


def parse_name(name: str) -> Setting:
    """The setting that a file name states.

    Raises:
        MemoryBenchmarkError: the name is not of the form.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise MemoryBenchmarkError(
            f"{name}: expected a name like {{domain}}_{{task}}_[k{{K}}_][editk{{editK}}_]M{{M}}_que_ans.json "
            f"with a task of {', '.join(TYPES)}"
        )
    domain, task, k, edit_k, m = match.groups()
    return Setting(domain, task, int(m), int(k) if k else None, int(edit_k) if edit_k else None)
