"""Scopes: what they take, when they overlap, and how they are written down."""

from __future__ import annotations

import pytest
from hypothesis import given

from channels.message import InboundMessage
from routes.scope import Scope, ScopeInvalid, describe, overlap, read_scope, sample, scope_from_json, scope_to_json
from tests.routes.support import UNIVERSE, message, scopes, share, witness


def named(*values: str) -> frozenset[str]:
    return frozenset(values)


@pytest.mark.parametrize(
    ("scope", "given_message", "misses"),
    [
        (Scope(), message("channel", thread="t", command="x"), ()),
        (Scope("dm"), message("dm"), ()),
        (Scope("dm"), message("group"), ("kind",)),
        (Scope(chats=named("1", "2")), message(chat="2"), ()),
        (Scope(chats=named("1", "2")), message(chat="3"), ("chats",)),
        (Scope(threads=named("t")), message(thread="t"), ()),
        (Scope(threads=named("t")), message(thread=None), ("threads",)),
        (Scope(threads=None), message(thread=None), ()),
        (Scope(commands=named("start")), message(command="start"), ()),
        (Scope(commands=named("start")), message(command=None), ("commands",)),
        (Scope(senders=named("a")), message(sender="b"), ("senders",)),
        (Scope("group", named("1"), None, named("b")), message("dm", "2", sender="b"), ("kind", "chats")),
        (Scope(chats=named()), message(), ("chats",)),
    ],
)
def test_a_scope_takes_what_misses_no_dimension(
    scope: Scope, given_message: InboundMessage, misses: tuple[str, ...]
) -> None:
    assert scope.misses(given_message) == misses
    assert scope.takes(given_message) == (not misses)


@given(scopes)
def test_takes_and_misses_agree(scope: Scope) -> None:
    for each in UNIVERSE:
        assert scope.takes(each) == (not scope.misses(each))


@given(scopes, scopes)
def test_scopes_overlap_exactly_when_a_message_exists_that_both_take(one: Scope, other: Scope) -> None:
    assert overlap(one, other) == overlap(other, one) == share(one, other)


@given(scopes, scopes)
def test_the_witness_is_taken_by_both(one: Scope, other: Scope) -> None:
    found = sample(one, other)
    assert (found is not None) == overlap(one, other)
    if found is not None:
        assert one.takes(witness(found))
        assert other.takes(witness(found))


def test_a_witness_reads_as_a_sentence() -> None:
    found = sample(Scope("group", named("-7", "-5"), commands=named("help")), Scope(threads=named("t2", "t1")))
    assert str(found) == "a message from anyone in group -5, thread t1 saying /help"


@pytest.mark.parametrize(
    ("scope", "specificity"),
    [(Scope(), 0), (Scope("dm"), 1), (Scope("dm", *[named("1")] * 4), 5), (Scope(senders=named("a", "b")), 1)],
)
def test_specificity_counts_narrowed_dimensions(scope: Scope, specificity: int) -> None:
    assert scope.specificity == specificity
    assert scope.is_everything == (specificity == 0)


@given(scopes)
def test_the_compact_form_comes_back_as_it_was(scope: Scope) -> None:
    assert scope_from_json(scope_to_json(scope)) == scope


def test_the_compact_form_is_the_same_for_the_same_scope() -> None:
    scope = Scope("dm", senders=frozenset("edcba"), chats=frozenset({"é"}))
    assert scope_to_json(scope) == '["dm",["é"],null,["a","b","c","d","e"],null]'


@given(scopes.filter(lambda s: all(values is None or values for values in s.sets)))
def test_the_written_form_comes_back_as_it_was(scope: Scope) -> None:
    assert read_scope({k: v if isinstance(v, str) else [*v] for k, v in describe(scope).items()}) == scope


def test_ids_may_be_numbers_and_commands_may_look_typed() -> None:
    assert read_scope({"chats": [-100123, "7"], "commands": ["/Start", "help"]}) == Scope(
        chats=named("-100123", "7"), commands=named("start", "help")
    )
    assert read_scope({}) == read_scope({"chats": None}) == Scope()


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"chats": []}, "an empty list takes nothing: leave it out to mean all. Leave chats out to mean all."),
        ({"commands": []}, "Leave commands out to mean all."),
        ({"chat": ["1"]}, "kind, chats, threads, senders, commands"),
        ({"kind": "room"}, "'any', 'dm', 'group' or 'channel'"),
        ({"commands": ["/"]}, "commands.0"),
        ({"senders": [""]}, "senders.0"),
        ({"senders": "a"}, "senders"),
    ],
)
def test_what_can_not_be_a_scope_is_refused_with_the_next_step(spec: dict[str, object], says: str) -> None:
    with pytest.raises(ScopeInvalid) as error:
        read_scope(spec)
    assert says in str(error.value)
    assert error.value.code == "scope_invalid"
