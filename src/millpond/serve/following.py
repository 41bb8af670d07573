"""Temporary."""

from millpond.errors import MillpondError


class Following:
    def __init__(self, *a):
        pass

    async def query(self, *a):
        raise MillpondError("UNSUPPORTED", feature="push", instead="")

    entity = query

    def explain(self, *a):
        return []

    def close(self):
        pass
