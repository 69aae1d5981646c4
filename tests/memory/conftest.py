from pathlib import Path

import pytest

from memory.domain import Domain
from memory.integers import Integers
from memory.latex import Latex
from memory.strings import Strings
from tests.memory.memory_models import encoder_folder


@pytest.fixture(scope="session")
def domains(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Domain]:
    folder: Path = encoder_folder(tmp_path_factory.mktemp("encoder"))
    return {domain.name: domain for domain in (Latex(folder), Strings(), Integers())}
