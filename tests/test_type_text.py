"""The canonical spelling of types reads back as the type."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.type_text import PLAIN, SIZED, read_type
from millpond.types import ArrayType, DataType, DecimalType, Field, MapType, Sized, StructType

SCALARS: st.SearchStrategy[DataType] = st.one_of(
    st.sampled_from(sorted(PLAIN)).map(DataType),
    st.builds(Sized, st.sampled_from(sorted(SIZED)), st.none() | st.integers(0, 2**31)),
    st.builds(DecimalType, precision=st.integers(1, 38), scale=st.integers(0, 38)),
)


def nested(inner: st.SearchStrategy[DataType]) -> st.SearchStrategy[DataType]:
    fields = st.lists(st.builds(Field, st.text(), inner), max_size=4).map(tuple)
    return st.one_of(
        st.builds(ArrayType, element=inner),
        st.builds(MapType, key=inner, value=inner),
        st.builds(StructType, fields=fields),
    )


@given(st.recursive(SCALARS, nested, max_leaves=8))
def test_every_type_reads_back_from_its_spelling(written: DataType) -> None:
    assert read_type(str(written)) == written


@pytest.mark.parametrize("text", ["", "INT", "ARRAY", "ARRAY<VARCHAR", "MAP<VARCHAR>", "DECIMAL(1)", "BIGINT BIGINT"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="type"):
        read_type(text)
