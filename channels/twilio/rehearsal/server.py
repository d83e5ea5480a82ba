"""A strict stand-in for Twilio with one number, SMS or WhatsApp."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal

import aiohttp
from aiohttp import web
from multidict import MultiDict

from channels.rehearsal.server import Rehearsal, Rehearsed, Unsayable, dropped
from channels.twilio.rehearsal.lookups import Desk
from channels.twilio.rehearsal.media import MMS_MAX, Unfetchable, fetch
from channels.twilio.rehearsal.rules import (
    HELP,
    MEDIA_MAX,
    START,
    STOP,
    TEMPLATE_MAX,
    Refused,
    check,
    check_media,
    fill,
)

Json = dict[str, Any]
Line = Literal["sms", "whatsapp"]
Handler = Callable[[web.Request], Awaitable[web.Response]]

ACCOUNT = "AC" + "0" * 31 + "1"
TOKEN = "r" * 32  # not a secret: it opens nothing but this server
SERVICE = "MG" + "0" * 31 + "1"
TEMPLATE = "HX" + "0" * 31 + "1"
NUMBER = "+15550100100"
WINDOW = 24 * 3600.0

AUTOMATIC = {
    "STOP": "You have successfully been unsubscribed. Reply START to resubscribe.",
    "START": "You have successfully been re-subscribed.",
    "HELP": "Reply STOP to unsubscribe.",
}


class TwilioRehearsal(Rehearsal):
    """Twilio's REST API under `url`, a user's phone in the control API, and webhooks to `hook_url`.

    `retry_connections` is how often a webhook that could not be connected is tried again; Twilio's default is once.
    `mms` False is a number that can't send files; `templates` are the words of the account's templates, by SID; `desk`
    says how they stand.
    """

    def __init__(
        self,
        line: Line,
        *,
        hook_url: str = "",
        host: str = "127.0.0.1",
        port: int = 0,
        retry_connections: int = 1,
    ) -> None:
        super().__init__(host, port)
        self.line = line
        self.hook_url = hook_url
        self.sender = f"whatsapp:{NUMBER}" if line == "whatsapp" else NUMBER
        self.mms = True
        self.templates = {TEMPLATE: "About your question: {{1}}"}
        self.opted_out: set[str] = set()
        self.desk = Desk(ACCOUNT, NUMBER, SERVICE, lambda: self.hook_url)
        self.last_inbound: dict[str, float] = {}
        self._media: dict[str, tuple[str, bytes]] = {}
        self._retries = retry_connections
        self._posts = asyncio.Lock()

    def routes(self, router: web.UrlDispatcher) -> None:
        """The REST resources that an adapter uses."""
        router.add_post("/2010-04-01/Accounts/{account}/Messages.json", self._create)
        router.add_get("/2010-04-01/Accounts/{account}.json", self._account)
        router.add_get("/2010-04-01/Accounts/{account}/Messages/{message}/Media/{media}", self._media_redirect)
        account = "/2010-04-01/Accounts/{account}"
        router.add_get(f"{account}/IncomingPhoneNumbers.json", self._asked(lambda q, _sid: self.desk.numbers(q)))
        router.add_get(f"{account}/Applications/{{sid}}.json", self._asked(lambda _q, sid: self.desk.applications(sid)))
        router.add_get("/v1/Services/{sid}", self._asked(lambda _q, sid: self.desk.services(sid)))
        router.add_get("/v2/Channels/Senders", self._asked(lambda q, _sid: self.desk.senders(q)))
        router.add_get("/v1/Content/{sid}/ApprovalRequests", self._asked(lambda _q, sid: self.desk.approvals(sid)))
        router.add_get("/storage/{media}", self._media_content)

    # -- the REST API

    async def _create(self, request: web.Request) -> web.Response:
        form = await request.post()
        fields = {key: str(value) for key, value in form.items()}
        urls = [str(url) for url in form.getall("MediaUrl", ())]
        fault = self.faults.take("messages")
        if fault is not None:
            await asyncio.sleep(fault.delay)
            if fault.drop == "before":
                return dropped(request)
            if fault.status is not None:
                code = 20429 if fault.status == 429 else 20500
                return self._answer(fields, Refused(fault.status, code, fault.description or "Too Many Requests"))
        try:
            self._authorise(request)
            check(
                fields,
                whatsapp=self.line == "whatsapp",
                sender=self.sender,
                service=SERVICE,
                opted_out=self.opted_out,
            )
            check_media(urls, mms=self.mms or self.line == "whatsapp")
            text = fill(fields, self.templates) if fields.get("ContentSid") else fields.get("Body", "")
        except Refused as refused:
            return self._answer(fields, refused)
        sid = self._sid("MM" if urls else "SM")
        if urls:
            self.background(self._deliver_media(sid, fields, text, urls))
        else:
            await self.said(_bare(fields["To"]), sid, text, "messages")
            self.background(self._report(sid, fields, self._fate(fields, text)))
        answer = self._answer(fields, self._resource(sid, fields, len(urls)))
        return dropped(request) if fault is not None and fault.drop == "after" else answer

    async def _account(self, request: web.Request) -> web.Response:
        try:
            self._authorise(request)
        except Refused as refused:
            return self._answer({}, refused, "account")
        return self._answer(
            {}, {"sid": ACCOUNT, "friendly_name": "Rehearsal", "status": "active", "type": "Full"}, "account"
        )

    def _asked(self, look: Callable[[Mapping[str, str], str], Json]) -> Handler:
        """A resource that tells what the account is set to."""

        async def answer(request: web.Request) -> web.Response:
            name = request.path.rpartition("/")[2]
            try:
                self._authorise(request)
                found: Refused | Json = look(request.query, request.match_info.get("sid", ""))
            except Refused as refused:
                found = refused
            return self._answer(dict(request.query), found, name)

        return answer

    async def _media_redirect(self, request: web.Request) -> web.StreamResponse:
        """Media needs the account's credentials, and lives elsewhere."""
        try:
            self._authorise(request)
        except Refused as refused:
            return self._answer({}, refused, "media")
        raise web.HTTPTemporaryRedirect(f"{self.url}/storage/{request.match_info['media']}")

    async def _media_content(self, request: web.Request) -> web.Response:
        found = self._media.get(request.match_info["media"])
        if found is None or "Authorization" in request.headers:
            raise web.HTTPBadRequest
        return web.Response(body=found[1], content_type=found[0])

    def _authorise(self, request: web.Request) -> None:
        wanted = "Basic " + base64.b64encode(f"{ACCOUNT}:{TOKEN}".encode()).decode()
        if request.headers.get("Authorization") != wanted:
            raise Refused(401, 20003, "Authenticate")
        if request.match_info.get("account", ACCOUNT) != ACCOUNT:
            raise Refused(404, 20404, "The requested resource was not found")

    def _answer(self, fields: Json, what: Refused | Json, method: str = "messages") -> web.Response:
        status, body = 201 if method == "messages" else 200, what
        if isinstance(what, Refused):
            status = what.status
            more = f"https://www.twilio.com/docs/errors/{what.code}"
            body = {"code": what.code, "message": what.message, "more_info": more, "status": status}
        self.recorded(method, fields, status, body)
        return web.json_response(body, status=status)

    def _resource(self, sid: str, fields: Json, media: int) -> Json:
        return {
            "sid": sid,
            "account_sid": ACCOUNT,
            "body": fields.get("Body", ""),
            "from": fields.get("From") or None,
            "to": fields["To"],
            "status": "queued",
            "direction": "outbound-api",
            "num_segments": "1",
            "num_media": str(media),
            "error_code": None,
            "error_message": None,
            "messaging_service_sid": fields.get("MessagingServiceSid") or None,
            "date_created": "Thu, 01 Jan 2026 00:00:00 +0000",
            "date_updated": "Thu, 01 Jan 2026 00:00:00 +0000",
            "date_sent": None,
            "price": None,
            "price_unit": "USD",
            "api_version": "2010-04-01",
            "uri": f"/2010-04-01/Accounts/{ACCOUNT}/Messages/{sid}.json",
            "subresource_uris": {},
        }

    async def _deliver_media(self, sid: str, fields: Json, text: str, urls: list[str]) -> None:
        """Fetch what a message brings, then deliver it; WhatsApp takes the first file and leaves the others."""
        whatsapp = self.line == "whatsapp"
        try:
            files = [await fetch(url, whatsapp=whatsapp) for url in (urls[:1] if whatsapp else urls)]
            if sum(file["size"] for file in files) > MMS_MAX and not whatsapp:
                raise Unfetchable(11751)
        except Unfetchable as error:
            await self._report(sid, fields, [("failed", error.code)])
            return
        fate = self._fate(fields, text)
        if fate[-1][0] != "failed":
            await self.said(_bare(fields["To"]), sid, text, "messages", files=files)
        await self._report(sid, fields, fate)

    def _fate(self, fields: Json, text: str) -> list[tuple[str, int | None]]:
        """What becomes of a message: free text outside WhatsApp's window fails later, not at once."""
        if self.line == "sms":
            return [("sent", None), ("delivered", None)]
        last = self.last_inbound.get(_bare(fields["To"]), 0.0)
        if not fields.get("ContentSid") and time.time() - last > WINDOW:
            return [("failed", 63016)]
        if fields.get("ContentSid") and len(text) > TEMPLATE_MAX:
            return [("failed", 63021)]
        return [("sent", None), ("delivered", None), ("read", None)]

    async def _report(self, sid: str, fields: Json, fate: list[tuple[str, int | None]]) -> None:
        if not fields.get("StatusCallback"):
            return
        for state, code in fate:
            form = {
                "AccountSid": ACCOUNT,
                "MessageSid": sid,
                "SmsSid": sid,
                "MessageStatus": state,
                "SmsStatus": state,
                "To": fields["To"],
                "From": fields.get("From") or self.sender,
                "ApiVersion": "2010-04-01",
                **({"ErrorCode": str(code)} if code else {}),
            }
            await self._post(fields["StatusCallback"], form)

    # -- a user's phone

    async def say(self, request: Json) -> Json:
        """A user sends text, files, a location, a button's answer. Raises Unsayable."""
        address = self._address(request)
        person = _bare(address)
        sid = self._sid("MM" if request.get("files") else "SM")
        form = self._message(request, address, sid)
        self.last_inbound[person] = time.time() - float(request.get("hours_ago", 0)) * 3600
        word = form["Body"].strip().upper()
        if self.line == "sms":
            await self._opt(word, address)
        for _ in range(2 if self.faults.duplicates() else 1):
            await self._post(self.hook_url, form)
        return {"chat": person, "ref": sid}

    def _address(self, request: Json) -> str:
        name = str(request.get("chat") or request.get("user", "you"))
        digest = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") % 10_000_000
        number = name if name.startswith("+") or "." in name else f"+1555{digest:07d}"
        return f"whatsapp:{number}" if self.line == "whatsapp" else number

    def _message(self, request: Json, address: str, sid: str) -> Json:
        text, files = str(request.get("text", "")), request.get("files") or []
        if len(files) > MEDIA_MAX:
            raise Unsayable(f"at most {MEDIA_MAX} files")
        form: Json = {
            "ToCountry": "US",
            "SmsMessageSid": sid,
            "NumMedia": str(len(files)),
            "SmsSid": sid,
            "SmsStatus": "received",
            "Body": text,
            "To": self.sender,
            "NumSegments": "1",
            "MessageSid": sid,
            "AccountSid": ACCOUNT,
            "From": address,
            "ApiVersion": "2010-04-01",
        }
        for n, file in enumerate(files):
            media = self._sid("ME")
            media_type = str(file.get("media_type", "application/octet-stream"))
            self._media[media] = (media_type, base64.b64decode(file.get("base64", "")))
            form[f"MediaUrl{n}"] = f"{self.url}/2010-04-01/Accounts/{ACCOUNT}/Messages/{sid}/Media/{media}"
            form[f"MediaContentType{n}"] = media_type
        if self.line == "whatsapp":
            form |= {"ProfileName": str(request.get("user", "you")), "WaId": _bare(address).removeprefix("+")}
            if "press" in request:
                form |= {
                    "ButtonText": str(request["press"]),
                    "ButtonPayload": str(request["press"]),
                    "Body": str(request["press"]),
                }
            if "location" in request:
                place = request["location"]
                form |= {"Latitude": str(place["latitude"]), "Longitude": str(place["longitude"])}
        if not form["Body"] and not files and "Latitude" not in form:
            raise Unsayable("a message needs text, files or a location")
        return form

    async def _opt(self, word: str, address: str) -> None:
        """STOP, START and HELP are answered by Twilio; the webhook hears of them all the same."""
        kind = "STOP" if word in STOP else "START" if word in START else "HELP" if word in HELP else ""
        if kind == "STOP":
            self.opted_out.add(address)
        elif kind == "START":
            self.opted_out.discard(address)
        if kind:
            await self.said(address, self._sid("SM"), AUTOMATIC[kind], "automatic")

    async def _post(self, url: str, form: Json) -> None:
        """A signed webhook, one after the other; tried again only where it could not be connected."""
        if not url:
            raise Unsayable("no webhook is set")
        from twilio.request_validator import RequestValidator

        bare = url.partition("#")[0]
        headers = {
            "X-Twilio-Signature": RequestValidator(TOKEN).compute_signature(bare, MultiDict(form)),
            "I-Twilio-Idempotency-Token": secrets.token_hex(8),
        }
        timeout = aiohttp.ClientTimeout(total=15, connect=5)
        async with self._posts, aiohttp.ClientSession(timeout=timeout) as session:
            for attempt in range(self._retries + 1):
                try:
                    async with session.post(bare, data=form, headers=headers) as response:
                        self.recorded("webhook", form, response.status, await response.text())
                        return
                except (aiohttp.ClientError, TimeoutError) as error:
                    self.recorded("webhook", form, 502, f"attempt {attempt + 1}: {type(error).__name__}")

    def _sid(self, prefix: str) -> str:
        return prefix + secrets.token_hex(16)


@asynccontextmanager
async def rehearse_line(line: Line, hook_url: str) -> AsyncIterator[Rehearsed]:
    """A running server, and the connection that speaks to it."""
    async with TwilioRehearsal(line, hook_url=hook_url) as server:
        settings = {"from_address": server.sender, "base_url": server.url}
        yield Rehearsed(settings, {"account_sid": ACCOUNT, "auth_token": TOKEN}, server.url, by_webhook=True)


def _bare(address: str) -> str:
    return address.removeprefix("whatsapp:")
