"""Grants: an agent has what its file names and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_runtime.tools.grants import AgentHeldBack, grants_for, held_back, narrow, resolve_grants
from tests.support.runs import package, tool, tools

PROVIDED = tools(*(tool(name) for name in ("read", "write_file", "reminder.add", "reminder.list", "reminders")))


@pytest.mark.parametrize(
    ("allowed", "granted", "missing"),
    [
        ([], [], ()),
        (["read"], ["read"], ()),
        (["reminder.*"], ["reminder.add", "reminder.list"], ()),
        (["reminder.list", "reminder.*"], ["reminder.list", "reminder.add"], ()),
        (["reminder.add?", "gone?", "gone.*?"], ["reminder.add"], ()),
        (["gone", "read", "gone.*"], ["read"], ("gone", "gone.*")),
        (["reminder"], [], ("reminder",)),
        (["read.*"], [], ("read.*",)),
        (["*"], [], ("*",)),
        (["Read"], [], ("Read",)),
    ],
)
def test_a_grant_is_a_name_or_a_family_and_either_may_be_optional(
    allowed: list[str], granted: list[str], missing: tuple[str, ...]
) -> None:
    found = resolve_grants(allowed, PROVIDED)

    assert [*found.tools] == granted
    assert found.missing == missing
    assert all(PROVIDED[name] is found.tools[name] for name in granted)


@pytest.mark.parametrize(
    ("grant", "near"),
    [
        ("raed", "Did you mean read?"),
        ("reminders.*", "Did you mean reminder.*?"),
        ("reminder.lists", "Did you mean reminder.list?"),
        ("zzz", "Provided are: read, reminder.add, reminder.list, reminders, write_file."),
    ],
)
def test_an_agent_is_held_back_for_what_nobody_provides(grant: str, near: str) -> None:
    with pytest.raises(AgentHeldBack) as caught:
        grants_for(package(allowed_tools=("read", grant)), PROVIDED)

    assert (caught.value.code, caught.value.missing) == ("agent_held_back", (grant,))
    assert f"Agent 'shop' needs {grant}, and nobody provides it." in caught.value.message
    assert near in caught.value.fix


def test_an_agent_that_has_everything_it_needs_runs() -> None:
    shop = package(allowed_tools=("read", "gone?"))

    assert [*grants_for(shop, PROVIDED)] == ["read"]
    assert held_back("shop", shop.manifest.allowed_tools, PROVIDED) is None
    assert "Provided are: none." in str(held_back("shop", ["read"], {}))


def test_a_skill_only_narrows() -> None:
    granted = resolve_grants(["read", "reminder.*"], PROVIDED).tools

    assert [*narrow(granted, ["reminder.*"])] == ["reminder.add", "reminder.list"]
    assert [*narrow(granted, ["write_file", "read?", "Bash(git:*)"])] == ["read"]
    assert narrow(granted, []) == {}


some = st.sampled_from(["read", "write_file", "reminder", "reminder.add", "reminder.list", "gone", "gone.x"])
grants = st.builds(
    lambda name, family, maybe: name + family + maybe, some, st.sampled_from(["", ".*"]), st.sampled_from(["", "?"])
)


@given(st.lists(grants, max_size=5), st.sets(some), st.lists(grants, max_size=3))
def test_nothing_is_granted_that_is_not_named_and_provided(
    allowed: list[str], there: set[str], narrowed: list[str]
) -> None:
    provided = tools(*(tool(name) for name in sorted(there)))
    found = resolve_grants(allowed, provided)
    named = {grant.removesuffix("?") for grant in allowed}

    assert {*found.tools} == {
        name for name in there if name in named or any(name.startswith(g[:-1]) for g in named if g.endswith(".*"))
    }
    assert all(grant in allowed and not grant.endswith("?") for grant in found.missing)
    for grant in allowed:
        if not grant.endswith("?") and grant not in found.missing:
            assert resolve_grants([grant], found.tools).missing == ()
    assert {*narrow(found.tools, narrowed)} <= {*found.tools}
