"""Resume tokens."""

from __future__ import annotations

import pytest

from millpond.errors import MillpondError
from millpond.serve.token import Token, check_not_expired, decode_token

TOKEN = Token("relation-1", "abcd", {0: 5, 3: 2**40}, 1_700_000_000_000, b"\0key")


@pytest.mark.parametrize("token", [TOKEN, Token("r", "q"), Token("r", "q", {0: 1}, 5, b"")])
def test_a_token_survives_the_round_trip(token: Token) -> None:
    text = token.encode()
    assert decode_token(text, token.relation, token.query) == token
    assert text.replace("-", "").replace("_", "").isalnum()


@pytest.mark.parametrize("text", ["", "x", "not a token", "é", TOKEN.encode()[:-3], TOKEN.encode() + "AA", "=" * 8])
def test_what_is_no_token_is_invalid(text: str) -> None:
    with pytest.raises(MillpondError) as caught:
        decode_token(text, TOKEN.relation, TOKEN.query)
    assert caught.value.name == "INVALID_TOKEN"


@pytest.mark.parametrize(("relation", "query"), [("relation-2", "abcd"), ("relation-1", "other")])
def test_a_foreign_token_is_invalid(relation: str, query: str) -> None:
    with pytest.raises(MillpondError) as caught:
        decode_token(TOKEN.encode(), relation, query)
    assert caught.value.name == "INVALID_TOKEN"


COMPACT = {"cleanup.policy": "compact", "delete.retention.ms": "1000"}
CASES = [
    ({0: 5}, {0: 0}, {0: 9}, {}, 10**9, False),
    ({0: 5}, {0: 5}, {0: 5}, {}, 10**9, False),
    ({0: 5}, {0: 6}, {0: 9}, {}, 0, True),
    ({0: 5}, {0: 0}, {0: 4}, {}, 0, True),
    ({0: 5}, {0: 0}, {0: 9}, COMPACT, 1000, False),
    ({0: 5}, {0: 0}, {0: 9}, COMPACT, 1001, True),
    ({0: 9}, {0: 0}, {0: 9}, COMPACT, 10**9, False),
    ({0: 5}, {0: 0}, {0: 9}, {"cleanup.policy": "compact,delete"}, 86_400_001, True),
    ({0: 5}, {0: 0, 1: 3}, {0: 9, 1: 5}, {}, 0, False),
]


@pytest.mark.parametrize(("offsets", "firsts", "ends", "config", "age", "expired"), CASES)
def test_a_token_expires_when_something_may_be_lost(
    offsets: dict[int, int],
    firsts: dict[int, int],
    ends: dict[int, int],
    config: dict[str, str],
    age: int,
    expired: bool,
) -> None:
    token = Token("r", "q", offsets, written_at=7)
    if not expired:
        check_not_expired(token, "t", firsts, ends, config, 7 + age)
        return
    with pytest.raises(MillpondError) as caught:
        check_not_expired(token, "t", firsts, ends, config, 7 + age)
    assert caught.value.name == "TOKEN_EXPIRED"
