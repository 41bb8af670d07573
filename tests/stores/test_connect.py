"""A store's type and properties -> its log."""

from __future__ import annotations

import pytest

from millpond.errors import MillpondError
from millpond.stores.connect import open_log


def test_an_unknown_type_of_store_is_refused() -> None:
    with pytest.raises(MillpondError) as caught:
        open_log("PIGEON", {})
    assert caught.value.name == "UNSUPPORTED"
