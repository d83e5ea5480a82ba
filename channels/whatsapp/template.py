"""What goes into a WhatsApp template, sent where free text is no longer allowed.

Rules from Twilio's "Using variables with Content templates" and its errors 21656 and 63021.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

REPLY = "{reply}"
"""Stands in a value for what the agent said."""

VARIABLES_MAX = 100
NAME = re.compile(r"[A-Za-z0-9_]{1,16}")

FIXED_MAX = 512
VALUES_MAX = 768
"""Characters of all values together: WhatsApp takes 1,024 with the template's own words, which are not known here."""


def filled(variables: Mapping[str, str], reply: str) -> tuple[str, bool]:
    """The ContentVariables parameter, and whether the reply had to be shortened to fit."""
    said = _flat(reply) or "…"
    places = sum(value.count(REPLY) for value in variables.values())
    room = (VALUES_MAX - _fixed(variables)) // max(1, places)
    cut = len(said) > room
    if cut:
        said = f"{said[: room - 1].rstrip()}…"
    values = {name: _flat(value.replace(REPLY, said)) for name, value in variables.items()}
    return json.dumps(values, ensure_ascii=False), cut and places > 0


def carries_reply(variables: Mapping[str, str]) -> bool:
    """Whether what the agent said has a place in the template."""
    return any(REPLY in value for value in variables.values())


def _flat(text: str) -> str:
    """Text without newlines, tabs and runs of spaces, and with apostrophes that Twilio is reported not to choke on."""
    return " ".join(text.split()).replace("'", "’")


def _fixed(variables: Mapping[str, str]) -> int:
    return sum(len(value.replace(REPLY, "")) for value in variables.values())


def _mapping(given: object) -> object:
    """A mapping as it is, or out of the JSON of a command line."""
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given or "{}")
    except ValueError as error:
        raise ValueError('give a JSON object such as {"1": "{reply}"}') from error


def _checked(variables: dict[str, str]) -> dict[str, str]:
    if len(variables) > VARIABLES_MAX:
        raise ValueError(f"a template has at most {VARIABLES_MAX} variables")
    for name, value in variables.items():
        if NAME.fullmatch(name) is None:
            raise ValueError(f"'{name}' can't be a variable: 1 to 16 letters, digits and underscores")
        if not value.strip():
            raise ValueError(f"variable '{name}' is empty, which Twilio refuses")
        if re.search(r"[\n\r\t]| {5}", value):
            raise ValueError(f"variable '{name}' has a newline, a tab or more than four spaces, which Twilio refuses")
        if re.search(r"\{(?!reply\})|(?<!\{reply)\}", value):
            raise ValueError(f"variable '{name}' has braces; only {REPLY} stands for something")
    if _fixed(variables) > FIXED_MAX:
        raise ValueError(f"the values are longer than {FIXED_MAX} characters together")
    return variables


TemplateVariables = Annotated[dict[str, str], BeforeValidator(_mapping), AfterValidator(_checked)]
"""Variables of a template by name, `{reply}` in a value for what the agent said; JSON text is taken too."""
