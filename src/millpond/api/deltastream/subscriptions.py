"""Push queries that wait for their reader: handed out by POST /v2/statements, picked up at /v2/print/{id}."""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Final

from millpond.api.deltastream.clients import Client
from millpond.api.deltastream.requests import StatementRequest
from millpond.api.deltastream.running import Runner
from millpond.catalog.model import SessionContext
from millpond.errors import MillpondError
from millpond.serve.answers import Answer, Subscription

PICKUP_SECONDS: Final = 60.0
"""How long a subscription waits for its reader: clients connect at once, or never."""

REMEMBERED: Final = 1_000
"""Offers whose statement is remembered, so that their reader can come back with a resume token."""


@dataclass(slots=True)
class Offer:
    """One push query for one reader, who knows `token`. `subscription` is None once it was taken."""

    id: str
    token: str
    request: StatementRequest
    context: SessionContext
    client: Client
    batch: int
    """How many statements its request had: only one alone can be run again."""
    subscription: Subscription | None
    expiry: asyncio.TimerHandle | None = None


class Subscriptions:
    """All offers by id."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._offers: OrderedDict[str, Offer] = OrderedDict()
        self._closing: set[asyncio.Task[None]] = set()

    def offer(
        self, id_: str, request: StatementRequest, subscription: Subscription, client: Client, batch: int
    ) -> Offer:
        """Keep `subscription` for the reader that comes with the offer's token."""
        made = Offer(id_, secrets.token_urlsafe(24), request, subscription.context, client, batch, subscription)
        made.expiry = asyncio.get_running_loop().call_later(PICKUP_SECONDS, self._expire, made)
        self._offers[id_] = made
        if len(self._offers) > REMEMBERED:
            self._expire(self._offers.popitem(last=False)[1])
        return made

    def find(self, id_: str, token: str) -> Offer:
        """Raises SUBSCRIPTION_NOT_FOUND, SUBSCRIPTION_TOKEN_WRONG."""
        found = self._offers.get(id_)
        if found is None:
            raise MillpondError("SUBSCRIPTION_NOT_FOUND", id=id_)
        if not secrets.compare_digest(found.token.encode(), token.encode()):
            raise MillpondError("SUBSCRIPTION_TOKEN_WRONG", id=id_)
        return found

    async def take(self, offer: Offer, resume: str | None) -> Subscription:
        """The offer's subscription; a later reader, or one with a resume token, gets a new run of it.

        Raises SUBSCRIPTION_NOT_RESUMABLE and what the statement raises.
        """
        waiting, offer.subscription = offer.subscription, None
        if offer.expiry is not None:
            offer.expiry.cancel()
        if waiting is not None and resume is None:
            return waiting
        if waiting is not None:
            await waiting.aclose()
        if offer.batch != 1:
            raise MillpondError("SUBSCRIPTION_NOT_RESUMABLE", id=offer.id, count=offer.batch)
        again = await self._runner.run(replace(offer.request, resume=resume), offer.context)
        subscription = again[-1]
        if isinstance(subscription, Answer):
            raise MillpondError("SUBSCRIPTION_NOT_FOUND", id=offer.id)
        return subscription

    async def aclose(self) -> None:
        """Close all that nobody came for."""
        for offer in list(self._offers.values()):
            self._expire(offer)
        if self._closing:
            await asyncio.wait(self._closing)

    def _expire(self, offer: Offer) -> None:
        unread, offer.subscription = offer.subscription, None
        if offer.expiry is not None:
            offer.expiry.cancel()
        if unread is not None:
            task = asyncio.get_running_loop().create_task(unread.aclose())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
