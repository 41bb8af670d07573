"""How programs on the JVM reach a store, and that its secrets are not shown."""

from __future__ import annotations

from millpond.stores.access import StoreAccess, store_access


def test_a_kafka_store_gives_the_java_clients_settings() -> None:
    access = store_access("kafka", {"uris": "h:1"})
    assert access == StoreAccess("KAFKA", {"bootstrap.servers": "h:1"}) and access.is_kafka


def test_secrets_are_not_shown() -> None:
    access = store_access("KINESIS", {"kinesis.secret_access_key": "hush"})
    assert access == StoreAccess("KINESIS", {"kinesis.secret_access_key": "hush"})
    assert "hush" not in repr(access) and not access.is_kafka
