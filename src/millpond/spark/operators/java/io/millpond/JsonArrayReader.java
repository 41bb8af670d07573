package io.millpond;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;

/** Reads an array. */
final class JsonArrayReader extends JsonReader {
  private final JsonReader element;

  JsonArrayReader(ArrayType array) {
    super(array);
    element = JsonReader.of(array.elementType());
  }

  @Override
  Object read(JsonParser parser, byte[] source) throws IOException {
    if (parser.currentToken() != JsonToken.START_ARRAY) {
      throw bad(parser);
    }
    List<Object> values = new ArrayList<>();
    while (parser.nextToken() != JsonToken.END_ARRAY) {
      try {
        values.add(element.readOrNull(parser, source));
      } catch (Undecodable e) {
        throw e.inElement(values.size() + 1);
      }
    }
    return new GenericArrayData(values.toArray());
  }
}
