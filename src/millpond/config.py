"""One tree of settings: defaults, then a TOML file, then MILLPOND_* variables, then the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)


class Settings(BaseSettings):
    """Every setting, as MILLPOND_<NAME> or a key of the TOML file. Each has a heading in docs/operations.md."""

    model_config = SettingsConfigDict(env_prefix="MILLPOND_", extra="forbid")

    embedded: bool = Field(default=False, description="Run a Kafka broker and a Kinesis emulator of its own.")
    data_dir: Path = Field(default=Path("millpond-data"), description="Where everything that must survive is kept.")
    host: str = Field(default="127.0.0.1", description="Address that the HTTP server listens on.")
    port: int = Field(default=8088, ge=0, le=65535, description="Port of the HTTP server; 0 takes a free one.")
    kafka_port: int = Field(
        default=9092, ge=0, le=65535, description="Port of the embedded broker; 0 takes a free one."
    )
    kinesis_port: int = Field(
        default=4567, ge=0, le=65535, description="Port of the embedded Kinesis emulator; 0 takes a free one."
    )
    kafka_uris: str = Field(default="", description="Broker list of the store `kafka` when not embedded.")
    spark_master: str = Field(
        default="local[64]", description="Where Spark runs. A slot of local[N] is a sleeping thread."
    )
    spark_memory: str = Field(default="1g", description="Heap of Spark's driver.")
    broker_memory: str = Field(default="256m", description="Heap of the embedded broker.")
    realtime_batch_seconds: int = Field(
        default=0,
        ge=0,
        description="Length of a real-time batch: shorter replays, more boundaries; 0 follows the rate (30 to 600).",
    )
    catchup_rows: int = Field(
        default=1_000_000, ge=1, description="Rows of backlog that one catch-up batch takes from a topic."
    )
    realtime_backlog_rows: int = Field(
        default=20_000, ge=0, description="A new query with fewer rows waiting starts in real time."
    )
    warm_up: bool = Field(
        default=True, description="Run a query of no consequence when the server starts: the first real one is faster."
    )
    pull_threads: int = Field(default=4, ge=1, description="Threads that answer pull queries that are not by key.")
    pull_timeout_seconds: float = Field(
        default=30.0, ge=0, description="Seconds after which a query over views is ended; 0: never."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="warning", description="debug, info, warning or error."
    )

    @field_validator("log_level", mode="before")
    @classmethod
    def _in_lower_case(cls, given: Any) -> Any:
        return given.lower() if isinstance(given, str) else given

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)


def load_settings(config: Path | None = None, **overrides: Any) -> Settings:
    """Settings from `config` (TOML), the environment and `overrides` (None is not an override)."""
    given = {k: v for k, v in overrides.items() if v is not None}
    if config is None:
        return Settings(**given)

    class FromFile(Settings):
        model_config = SettingsConfigDict(toml_file=config)

    return FromFile(**given)
