"""Making a connection's row from what a person gives: one set of rules for the command line, files and the console."""

from __future__ import annotations

import secrets as random
from collections.abc import Mapping, Sequence

from pydantic import JsonValue, ValidationError

from agents_runtime.manifest import is_identifier
from channels.adapter import Channel
from channels.errors import PostroomError
from channels.registry import UnknownChannel, load
from routes.connection import Connection


class ConnectionInvalid(PostroomError):
    """The id or a setting is not valid. `field` is the setting's name on disk, or empty."""

    code = "connection_invalid"

    def __init__(self, message: str, *, fix: str = "", field: str = "") -> None:
        super().__init__(message, fix=fix)
        self.field = field


def make_connection(
    channel: Channel,
    connection_id: str,
    settings: Mapping[str, JsonValue],
    secret_names: frozenset[str],
    *,
    before: Connection | None = None,
    label: str = "",
    owners: Sequence[str] = (),
    enabled: bool = True,
) -> Connection:
    """The row of a connection; `settings` are by their names on disk, `before` is the one it replaces.

    What is kept of `before` is its webhook path. Raises ConnectionInvalid.
    """
    if not is_identifier(connection_id):
        raise ConnectionInvalid(
            f"'{connection_id}' can't be a connection id.",
            fix="Use lowercase words joined by hyphens, such as my-shop.",
        )
    if before is not None and before.channel != channel.name:
        raise ConnectionInvalid(
            f"'{connection_id}' is already a {before.channel} connection.",
            fix=f"Choose another id, or remove it first: postroom connection remove {connection_id}",
        )
    names = {(field.alias or name): name for name, field in channel.settings.model_fields.items()}
    unknown = next((name for name in settings if name not in names), None)
    if unknown is not None:
        known = f"Settings of {channel.name}: {', '.join(names)}."
        raise ConnectionInvalid(f"There is no setting '{unknown}'.", fix=known, field=unknown)
    try:
        checked = channel.settings.model_validate({names[name]: value for name, value in settings.items()})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = str(first["loc"][0]) if first["loc"] else "settings"
        raise ConnectionInvalid(f"{field}: {first['msg']}.", field=field) from error
    complaint = channel.complain(checked, secret_names)
    if complaint:
        raise ConnectionInvalid(complaint)
    return Connection(
        id=connection_id,
        channel=channel.name,
        label=label,
        enabled=enabled,
        settings=checked.model_dump(mode="json", exclude_defaults=True),
        secret_names=tuple(sorted(secret_names)),
        owners=tuple(owners),
        hook_secret=before.hook_secret if before else random.token_urlsafe(24),
    )


def is_by_webhook(connection: Connection) -> bool:
    """Whether the provider has to reach this gateway for messages to come in. False where that can't be told."""
    try:
        channel = load(connection.channel)
        settings = channel.settings.model_validate(connection.settings)
    except (UnknownChannel, ValidationError):
        return False
    return channel.by_webhook(settings, frozenset(connection.secret_names))
