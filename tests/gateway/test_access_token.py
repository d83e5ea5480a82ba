"""The access token: made once, whole, for its owner's eyes, and never matched by nothing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.access_token import AccessTokenInvalid, access_token, new_access_token, shows_token
from gateway.settings import Settings


def test_it_is_made_once_by_however_many_ask(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "home")
    with ThreadPoolExecutor(8) as pool:
        tokens = set(pool.map(lambda _: access_token(settings), range(40)))
    assert len(tokens) == 1
    (file,) = (tmp_path / "home").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_new_one_replaces_it(tmp_path: Path) -> None:
    settings = Settings(tmp_path)
    before = access_token(settings)
    after = new_access_token(settings)
    assert before != after == access_token(settings)
    assert [p.name for p in tmp_path.iterdir()] == ["access-token"]


@pytest.mark.parametrize("content", ["", "\n", "short"])
def test_a_file_cut_short_opens_nothing(tmp_path: Path, content: str) -> None:
    settings = Settings(tmp_path)
    access_token(settings)
    (tmp_path / "access-token").write_text(content)
    with pytest.raises(AccessTokenInvalid):
        access_token(settings)
    assert new_access_token(settings) == access_token(settings)


def test_one_that_others_can_read_is_refused(tmp_path: Path) -> None:
    settings = Settings(tmp_path)
    access_token(settings)
    (tmp_path / "access-token").chmod(0o640)
    with pytest.raises(AccessTokenInvalid, match="640"):
        access_token(settings)


@given(st.text() | st.just("Bearer ") | st.just("Bearer \udcff"))
def test_nothing_else_is_taken_for_it(header: str) -> None:
    assert not shows_token(header.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape"), "t" * 43)


@pytest.mark.parametrize("header", ["Bearer {}", "bearer {}", "BEARER  {} "])
def test_the_scheme_is_read_as_http_says(header: str) -> None:
    assert shows_token(header.format("t" * 43), "t" * 43)
