"""Links that let one person in once, and the cookie that keeps them there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gateway.console.keys import LINK_SECONDS, SESSION_SECONDS, TRIES, TRY_SECONDS, Keys, NotLetIn
from gateway.settings import Settings
from gateway.vault import Vault, new_key


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keys(tmp_path: Path, clock: Clock) -> Keys:
    return Keys(Settings(tmp_path), Vault(new_key()), clock)


def test_a_link_lets_one_person_in_once(keys: Keys, tmp_path: Path) -> None:
    token = keys.make_link("operator", "ann")
    assert token not in "".join(p.name + p.read_text() for p in (tmp_path / "console-links").iterdir())
    person = keys.let_in(token)
    assert (person.name, person.role) == ("ann", "operator")
    with pytest.raises(NotLetIn):
        keys.let_in(token)


@pytest.mark.parametrize("token", ["", "..", "../key", "a" * 500])
def test_what_is_no_link_lets_nobody_in(keys: Keys, token: str) -> None:
    with pytest.raises(NotLetIn):
        keys.let_in(token)


def test_a_link_grows_too_old(keys: Keys, clock: Clock) -> None:
    token = keys.make_link("owner", "ann")
    clock.now += LINK_SECONDS + 1
    with pytest.raises(NotLetIn):
        keys.let_in(token)


def test_logging_in_is_rate_limited(keys: Keys, clock: Clock) -> None:
    for _ in range(TRIES):
        with pytest.raises(NotLetIn):
            keys.let_in("guess")
    token = keys.make_link("owner", "ann")
    with pytest.raises(NotLetIn, match="Too many"):
        keys.let_in(token)
    clock.now += TRY_SECONDS + 1
    assert keys.let_in(token).name == "ann"


def test_a_session_is_sealed_and_ends(keys: Keys, clock: Clock) -> None:
    person = keys.let_in(keys.make_link("viewer", "ann"))
    cookie = keys.seal(person)
    assert "ann" not in cookie
    assert keys.person(cookie) == person
    assert keys.person(cookie[:-2]) is None
    assert keys.person("") is None
    assert keys.person(Keys(Settings(Path()), Vault(new_key())).seal(replace(person, role="owner"))) is None
    clock.now += SESSION_SECONDS + 1
    assert keys.person(cookie) is None


def test_roles_include_those_before(keys: Keys) -> None:
    person = keys.let_in(keys.make_link("operator", "ann"))
    assert (person.may("viewer"), person.may("operator"), person.may("owner")) == (True, True, False)
