package io.millpond;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.MapType;

/** Reads an object into a MAP: any names, values of one type. Where a key comes twice the last value counts. */
final class JsonMapReader extends JsonReader {
  private final JsonReader key;
  private final JsonReader value;

  JsonMapReader(MapType map) {
    super(map);
    key = JsonReader.of(map.keyType());
    value = JsonReader.of(map.valueType());
  }

  @Override
  Object read(JsonParser parser, byte[] source) throws IOException {
    if (parser.currentToken() != JsonToken.START_OBJECT) {
      throw bad(parser);
    }
    Map<Object, Object> entries = new LinkedHashMap<>();
    while (parser.nextToken() != JsonToken.END_OBJECT) {
      readEntry(entries, parser, source);
    }
    GenericArrayData keys = new GenericArrayData(entries.keySet().toArray());
    return new ArrayBasedMapData(keys, new GenericArrayData(entries.values().toArray()));
  }

  private void readEntry(Map<Object, Object> entries, JsonParser parser, byte[] source) throws IOException {
    String name = parser.currentName();
    parser.nextToken();
    try {
      entries.put(key.readKey(name), value.readOrNull(parser, source));
    } catch (Undecodable e) {
      throw e.inElement(name);
    }
  }
}
