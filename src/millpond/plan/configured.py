"""The WITH list of a store or a schema registry -> its properties and its secrets, by the table of its kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from millpond.catalog.certificates import certificates, private_key
from millpond.catalog.model import Secrets
from millpond.catalog.store_kinds import CONFIG_FILE, URIS, StoreKind, StoreProperty
from millpond.errors import MillpondError, Position, missing_properties
from millpond.plan.attachments import Files, file_text, property_lines
from millpond.sql.statements import Properties, Property, PropertyValue
from millpond.suggestion import suggestion


@dataclass(frozen=True, slots=True)
class Configured:
    """What a statement gives, by the properties' own names."""

    properties: Mapping[str, str]
    secrets: Secrets

    @property
    def all(self) -> dict[str, str]:
        return {**self.properties, **self.secrets}


def kind_of(properties: Properties, kinds: Mapping[str, StoreKind], statement: str) -> StoreKind:
    """The kind that 'type' names. Raises MISSING_PROPERTY, BAD_PROPERTY."""
    given = next((p for p in properties if p.key == "type"), None)
    if given is None:
        raise missing_properties(statement, {"type": next(iter(kinds))})
    found = kinds.get(str(given.value).upper())
    if found is None:
        takes = "one of " + ", ".join(kinds)
        raise MillpondError("BAD_PROPERTY", position=given.position, name="type", value=given.value, takes=takes)
    return found


def configured(properties: Properties, kind: StoreKind, statement: str, files: Files) -> Configured:
    """What WITH and its 'config_file' give; WITH comes first. Certificates and keys are PEM text afterwards.

    Raises UNKNOWN_PROPERTY, BAD_PROPERTY, DUPLICATE_PROPERTY, FILE_NOT_SENT, FILE_NOT_TEXT, BAD_CERTIFICATE.
    """
    reader = _Reader(kind, statement, files)
    values: dict[str, str] = {}
    for item in properties:
        if item.key == "type":
            continue
        name, value = reader.read(item)
        if name in values:
            raise MillpondError("DUPLICATE_PROPERTY", position=item.position, name=item.key)
        values[name] = value
    for key, text in property_lines(values.pop(CONFIG_FILE, "")):
        name, value = reader.read(Property(key, text))
        values.setdefault(name, value)
    values.pop(CONFIG_FILE, None)
    _normalize_certificates(values, reader.file_names)
    secret = {name for name in values if kind.properties[name].secret}
    plain = {name: value for name, value in values.items() if name not in secret}
    return Configured(plain, Secrets({name: values[name] for name in sorted(secret)}))


class _Reader:
    """Reads properties of one kind, and remembers which file each came from."""

    def __init__(self, kind: StoreKind, statement: str, files: Files) -> None:
        self.kind, self.statement, self.files = kind, statement, files
        self.file_names: dict[str, str] = {}

    def read(self, item: Property) -> tuple[str, str]:
        alias = self.kind.aliases.get(item.key)
        name = alias.name if alias else item.key
        known = self.kind.properties.get(name)
        if known is None:
            raise self._unknown(item)
        value = _checked(item, known, alias.read(item.value) if alias and alias.read else item.value)
        if known.file:
            self.file_names[name] = value if len(value) < 200 else item.key
            value = file_text(value, item.key, self.files, item.position)
        return name, value

    def _unknown(self, item: Property) -> MillpondError:
        known = [*self.kind.properties, *self.kind.aliases]
        listed = "It takes: " + ", ".join(sorted(self.kind.properties)) + "."
        return MillpondError(
            "UNKNOWN_PROPERTY",
            position=item.position,
            name=item.key,
            statement=f"{self.statement[0].lower()}{self.statement[1:]} of type {self.kind.type}",
            suggestion=suggestion(item.key, known, listed),
        )


def _checked(item: Property, known: StoreProperty, value: PropertyValue) -> str:
    try:
        return known.read(value)
    except ValueError:
        login = known is URIS and "@" in str(item.value)
        shown = "***" if login or (known.secret and not known.file) else item.value
        raise _bad(item.position, item.key, shown, known.takes) from None


def _bad(position: Position | None, name: str, value: object, takes: str) -> MillpondError:
    return MillpondError("BAD_PROPERTY", position=position, name=name, value=value, takes=takes)


def _normalize_certificates(values: dict[str, str], file_names: Mapping[str, str]) -> None:
    """PEM as every client reads it; the passphrase is needed here only. Certificates without a word on TLS mean TLS."""
    passphrase = values.pop("tls.client.key_passphrase", None)
    for name in ("tls.ca_cert_file", "tls.client.cert_file"):
        if name in values:
            values[name] = certificates(values[name], file_names[name])
    name = "tls.client.key_file"
    if name in values:
        values[name] = private_key(values[name], passphrase, file_names[name])
    if file_names.keys() & values.keys():
        values.setdefault("tls.disabled", "false")
