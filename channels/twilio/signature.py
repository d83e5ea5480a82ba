"""Twilio's webhook signature: the configured URL and the parameters, HMAC-SHA1 with the auth token."""

from __future__ import annotations

import hashlib
import hmac
from urllib.parse import parse_qsl, urldefrag

from multidict import MultiDict

from channels.adapter import HookReply, HookRequest, Verified
from channels.errors import PayloadError, VerificationError
from channels.payload import json_object

EMPTY_TWIML = HookReply(200, b"<Response/>", "text/xml")
"""Replies go through REST, so a webhook is answered with no instructions."""

MAX_FIELDS = 500


def verify(request: HookRequest, auth_token: str) -> Verified:
    """Prove that Twilio sent this for the configured URL, and parse it. Raises VerificationError (403) or PayloadError.

    A form is signed with its parameters, blank ones too. A JSON body signs only the URL, so its digest in the URL's
    `bodySHA256` is checked as well; without that, any body would pass.
    """
    from twilio.request_validator import RequestValidator, get_signature_algorithm

    url = urldefrag(request.url).url
    is_json = request.header("Content-Type").partition(";")[0].strip().lower() == "application/json"
    if is_json and not _digest_matches(request):
        raise _refused("The body is not the one that was signed.")
    try:
        form = MultiDict[str]() if is_json else _form(request.body)
        algorithm = get_signature_algorithm(request.header("X-Twilio-Webhooks-Signature-Settings"))
        signature = request.header("X-Twilio-Signature")
        valid = bool(signature) and RequestValidator(auth_token).validate(url, form, signature, algorithm)
    except PayloadError:
        raise
    except Exception as error:  # the validator raises what it likes on bytes, None or a broken URL
        raise _refused("The signature could not be checked.") from error
    if not valid:
        raise _refused("The signature does not match.")
    return Verified(json_object(request.body) if is_json else dict(form.items()), EMPTY_TWIML)


def _digest_matches(request: HookRequest) -> bool:
    wanted = request.query.get("bodySHA256", "")
    found = hashlib.sha256(request.body).hexdigest()
    return hmac.compare_digest(found.encode(), wanted.lower().encode("utf-8", "replace"))


def _form(body: bytes) -> MultiDict[str]:
    try:
        pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict")
    except ValueError as error:
        raise PayloadError("The body is not a form.") from error
    return MultiDict(pairs)


def _refused(message: str) -> VerificationError:
    return VerificationError(
        message,
        status=403,
        fix="The public URL must be exactly the one that Twilio calls, and the auth token the account's own.",
    )
