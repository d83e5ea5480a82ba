"""Twilio's signature: forms, JSON, ports, and everything that must be refused."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.adapter import HookRequest
from channels.errors import PayloadError, VerificationError
from channels.twilio.signature import verify
from tests.support.payloads import payload_files

TOKEN = "an-auth-token"
URL = "https://bots.example.com/p/hooks/line/abc"


def sign(url: str, fields: list[tuple[str, str]], token: str = TOKEN) -> str:
    """A signature as Twilio documents it: the URL, then each sorted name with its value."""
    text = url + "".join(name + value for name, value in sorted(set(fields)))
    return base64.b64encode(hmac.new(token.encode(), text.encode(), hashlib.sha1).digest()).decode()


def form(fields: list[tuple[str, str]], *, url: str = URL, signature: str | None = None) -> HookRequest:
    headers = {"Content-Type": "application/x-www-form-urlencoded; charset=UTF-8"}
    headers["X-Twilio-Signature"] = sign(url, fields) if signature is None else signature
    return HookRequest("POST", url, headers, {}, urlencode(fields).encode())


def test_a_signed_form_is_parsed_and_answered_with_empty_twiml():
    verified = verify(form([("MessageSid", "SM1"), ("Body", "hällo & <you>")]), TOKEN)
    assert verified.payload == {"MessageSid": "SM1", "Body": "hällo & <you>"}
    assert verified.reply.body == b"<Response/>"
    assert verified.reply.content_type == "text/xml"


def test_a_blank_body_counts_in_the_signature_as_with_a_picture_without_words():
    assert verify(form([("Body", ""), ("NumMedia", "1")]), TOKEN).payload["Body"] == ""


def test_a_repeated_parameter_counts_once_for_each_value():
    fields = [("Digits", "5678"), ("Digits", "1234"), ("Digits", "1234")]
    assert verify(form(fields), TOKEN).payload["Digits"] in {"5678", "1234"}


@pytest.mark.parametrize("signed", ["https://h.example:443/x", "https://h.example/x"])
def test_the_port_may_be_in_the_signed_url_or_not(signed):
    request = form([("a", "b")], url="https://h.example/x", signature=sign(signed, [("a", "b")]))
    assert verify(request, TOKEN).payload == {"a": "b"}


def test_a_fragment_in_the_configured_url_is_not_signed():
    request = form([("a", "b")], url=URL + "#rc=3&rp=all", signature=sign(URL, [("a", "b")]))
    assert verify(request, TOKEN).payload == {"a": "b"}


def json_request(body: bytes, digest: str | None) -> HookRequest:
    url = URL if digest is None else f"{URL}?bodySHA256={digest}"
    headers = {"Content-Type": "application/json", "X-Twilio-Signature": sign(url, [])}
    return HookRequest("POST", url, headers, {} if digest is None else {"bodySHA256": digest}, body)


def test_a_json_body_needs_its_digest_in_the_url():
    body = b'{"MessageSid": "SM1"}'
    digest = hashlib.sha256(body).hexdigest()
    assert verify(json_request(body, digest), TOKEN).payload == {"MessageSid": "SM1"}
    for wrong in (None, "0" * 64, "", "ü"):
        with pytest.raises(VerificationError) as refused:
            verify(json_request(body, wrong), TOKEN)
        assert refused.value.status == 403
    with pytest.raises(VerificationError):
        verify(json_request(b'{"MessageSid": "SM2"}', digest), TOKEN)


@pytest.mark.parametrize("signature", ["", "AAAA", "ünïcode", "=" * 28, sign(URL, [("a", "b")], "another token")])
def test_a_wrong_signature_of_any_shape_is_403(signature):
    with pytest.raises(VerificationError) as refused:
        verify(form([("a", "b")], signature=signature), TOKEN)
    assert refused.value.status == 403


@given(
    body=st.binary(max_size=200), signature=st.text(max_size=40), kind=st.sampled_from(["application/json", "x", ""])
)
def test_nothing_but_a_typed_refusal_comes_of_noise(body, signature, kind):
    request = HookRequest("POST", URL, {"Content-Type": kind, "X-Twilio-Signature": signature}, {}, body)
    with pytest.raises((VerificationError, PayloadError)):
        verify(request, TOKEN)


def test_the_vectors_of_twilios_own_library():
    for path in payload_files("twilio", "*validator*"):
        check_vector(json.loads(path.read_text()))


def check_vector(vector):
    fields = list(vector["params"].items())
    request = form(fields, url=vector["uri"], signature=vector["expected"])
    assert verify(request, vector["auth_token"]).payload == vector["params"]
    request = form(fields, url=vector["uri"], signature=vector["expected_uri_with_port_443"])
    assert verify(request, vector["auth_token"]).payload == vector["params"]
    headers = {"Content-Type": "application/json", "X-Twilio-Signature": vector["json_signature"]}
    query = {"bodySHA256": vector["json_body_sha256"]}
    verified = verify(
        HookRequest("POST", vector["json_uri"], headers, query, vector["json_body"].encode()), vector["auth_token"]
    )
    assert verified.payload == json.loads(vector["json_body"])
