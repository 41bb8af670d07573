package io.millpond;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.io.Serializable;
import org.apache.spark.sql.types.*;

/** Reads one JSON value of one SQL type into Spark's internal form of it. Holds no state: one reader serves all rows. */
abstract class JsonReader implements Serializable {
  final String type;

  JsonReader(DataType type) {
    this.type = SqlTypes.name(type);
  }

  /**
   * The value that starts at the parser's current token, which is not a null; the parser is left at its last token.
   *
   * @param source the whole record, for values that are taken as they stand
   * @throws Undecodable if it is JSON but not a value of this type
   */
  abstract Object read(JsonParser parser, byte[] source) throws IOException;

  /** Reads what may be a null. */
  final Object readOrNull(JsonParser parser, byte[] source) throws IOException {
    return parser.currentToken() == JsonToken.VALUE_NULL ? null : read(parser, source);
  }

  /** Says whether the value is one of this type; cheaper than `read` where it can be. */
  void check(JsonParser parser, byte[] source) throws IOException {
    read(parser, source);
  }

  /** The value of a MAP's key, which is text in JSON whatever its type. */
  Object readKey(String text) {
    throw new Undecodable("a " + type + " cannot be the key of a MAP in JSON");
  }

  static JsonReader of(DataType type) {
    if (type instanceof StructType struct) {
      return new JsonStructReader(struct, null);
    }
    if (type instanceof ArrayType array) {
      return new JsonArrayReader(array);
    }
    if (type instanceof MapType map) {
      return new JsonMapReader(map);
    }
    return JsonScalarReader.of(type);
  }

  /** The text of a scalar token; anything else is not of this type. */
  final String scalarText(JsonParser parser) throws IOException {
    if (!parser.currentToken().isScalarValue()) {
      throw Undecodable.notA(type, parser.currentToken().asString() + "...");
    }
    return parser.getText();
  }

  final Undecodable bad(JsonParser parser) throws IOException {
    return Undecodable.notA(type, scalarText(parser));
  }
}
