"""A server that the tests of the HTTP interface share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="requirements/http.lock is not installed")
pytest.importorskip("starlette", reason="requirements/http.lock is not installed")

from tests.http.http_stand import Client, running, write_collection


@pytest.fixture(scope="session")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_collection(tmp_path_factory.mktemp("collection"))


@pytest.fixture(scope="session")
def client(collection: Path) -> Iterator[Client]:
    with running(collection) as client:
        yield client
