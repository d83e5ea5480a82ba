"""Variables of a WhatsApp template: what may be set, and that whatever an agent says fits Twilio's rules."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from channels.registry import load
from channels.twilio.rehearsal.rules import fill
from channels.whatsapp.template import VALUES_MAX, filled
from gateway.connecting import ConnectionInvalid, make_connection

TEMPLATE = "HX" + "0" * 32
SETTINGS = load("whatsapp").settings


def settings(variables):
    return SETTINGS.model_validate({"from": "+15550100100", "template": TEMPLATE, "template_variables": variables})


def test_variables_are_given_as_json_or_as_a_mapping():
    assert settings('{"1": "{reply}", "shop": "Corner"}') == settings({"1": "{reply}", "shop": "Corner"})
    assert settings("").template_variables == {}


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ("{reply}", "JSON object"),
        ('["{reply}"]', "dictionary"),
        ({"1": 1}, "string"),
        ({"a b": "x"}, "can't be a variable"),
        ({"x" * 17: "x"}, "can't be a variable"),
        ({"1": " "}, "is empty"),
        ({"1": "a\nb"}, "newline"),
        ({"1": "a     b"}, "four spaces"),
        ({"1": "{answer}"}, "braces"),
        ({"1": "{{1}}"}, "braces"),
        ({"1": "x" * 513}, "longer than 512"),
        ({str(n): "x" for n in range(101)}, "at most 100"),
    ],
)
def test_what_twilio_would_refuse_is_refused_when_it_is_set(variables, why):
    with pytest.raises(ValidationError, match=why):
        settings(variables)


def test_a_connection_is_not_made_with_bad_variables_or_without_their_template():
    channel, secrets = load("whatsapp"), frozenset({"account_sid", "auth_token"})
    with pytest.raises(ConnectionInvalid, match="template_variables") as invalid:
        make_connection(channel, "wa", {"from": "+1", "template": TEMPLATE, "template_variables": "x"}, secrets)
    assert invalid.value.field == "template_variables"
    with pytest.raises(ConnectionInvalid, match="Give --template"):
        make_connection(channel, "wa", {"from": "+1", "template_variables": '{"1": "{reply}"}'}, secrets)
    made = make_connection(
        channel, "wa", {"from": "+1", "template": TEMPLATE, "template_variables": '{"1": "{reply}"}'}, secrets
    )
    assert made.settings["template_variables"] == {"1": "{reply}"}


@given(st.text(max_size=2000), st.sampled_from([{"1": "{reply}"}, {"1": "To you: {reply}, {reply}", "b": "it's"}]))
def test_any_reply_makes_variables_that_twilio_takes(reply, variables):
    given_, shortened = filled(variables, reply)
    assert fill({"ContentSid": "HX", "ContentVariables": given_}, {"HX": "{{1}}{{b}}"})
    values = json.loads(given_)
    assert sum(map(len, values.values())) <= VALUES_MAX
    assert "'" not in given_
    flat = " ".join(reply.split()).replace("'", "’")
    assert shortened or flat in values["1"]


def test_a_template_without_the_reply_is_never_shortened():
    assert filled({"1": "Corner shop"}, "x" * 3000) == ('{"1": "Corner shop"}', False)
