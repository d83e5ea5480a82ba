"""Addresses: `whatsapp:+14155550100`, `+14155550100`, or a business-scoped user id."""

from __future__ import annotations

import re

PREFIX = "whatsapp:"

_DOUBLE = (
    (re.compile(r"^\+55(\d\d)9(\d{8})$"), r"+55\1\2"),  # Brazil: mobile numbers with and without the ninth digit
    (re.compile(r"^\+549(\d{10})$"), r"+54\1"),  # Argentina: 9 after the country code marks a mobile
    (re.compile(r"^\+521(\d{10})$"), r"+52\1"),  # Mexico: 1 after the country code, until 2019
)


def bare(address: str) -> str:
    """The address without its channel prefix and surrounding space."""
    return address.strip().removeprefix(PREFIX)


def canonical(address: str) -> str:
    """One name for a person whom WhatsApp shows under two numbers; any other address stays as it is."""
    number = bare(address)
    for pattern, replacement in _DOUBLE:
        number = pattern.sub(replacement, number)
    return number
