"""SQL text -> typed statements, and back."""

from millpond.sql.parser import parse, parse_type
from millpond.sql.position import literal_ordinal, position_of
from millpond.sql.printer import print_statement
from millpond.sql.shape import shape_of
from millpond.sql.type_trees import type_of

__all__ = ["literal_ordinal", "parse", "parse_type", "position_of", "print_statement", "shape_of", "type_of"]
