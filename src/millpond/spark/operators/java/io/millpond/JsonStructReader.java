package io.millpond;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.io.SerializedString;
import java.io.IOException;
import java.util.Collection;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Reads an object. A field is found by its exact name, then without case. All fields are type-checked; those that nobody needs are not
 * built. Where a name comes twice the last one counts, an exact one before one of other case.
 */
final class JsonStructReader extends JsonReader {
  private static final int AMBIGUOUS = -1;

  private final SerializedString[] names;
  private final JsonReader[] readers;
  /** Position in the result by field, -1 for one that is only checked. */
  private final int[] slots;
  private final int width;
  private final Map<String, Integer> exact = new HashMap<>();
  private final Map<String, Integer> folded = new HashMap<>();

  /** @param needed the names that the result has; null for all */
  JsonStructReader(StructType struct, Collection<String> needed) {
    super(struct);
    StructField[] fields = struct.fields();
    names = new SerializedString[fields.length];
    readers = new JsonReader[fields.length];
    slots = new int[fields.length];
    int next = 0;
    for (int i = 0; i < fields.length; i++) {
      String name = fields[i].name();
      names[i] = new SerializedString(name);
      readers[i] = JsonReader.of(fields[i].dataType());
      slots[i] = needed == null || needed.contains(name) ? next++ : -1;
      exact.putIfAbsent(name, i);
      folded.merge(name.toLowerCase(Locale.ROOT), i, (one, other) -> AMBIGUOUS);
    }
    width = next;
  }

  /** The type of what this reader makes: the needed fields in their order. */
  static StructType resultType(StructType struct, Collection<String> needed) {
    StructType result = new StructType();
    for (StructField field : struct.fields()) {
      result = needed.contains(field.name()) ? result.add(field.name(), field.dataType(), true) : result;
    }
    return result;
  }

  @Override
  GenericInternalRow read(JsonParser parser, byte[] source) throws IOException {
    if (parser.currentToken() != JsonToken.START_OBJECT) {
      throw bad(parser);
    }
    Object[] row = new Object[width];
    boolean[] exactly = new boolean[names.length];
    int guess = 0;
    while (true) {
      int field = guess;
      if (guess >= names.length || !parser.nextFieldName(names[guess])) {
        if (guess >= names.length) {
          parser.nextToken();
        }
        if (parser.currentToken() == JsonToken.END_OBJECT) {
          return new GenericInternalRow(row);
        }
        field = find(parser.currentName(), exactly);
      } else {
        exactly[field] = true;
      }
      parser.nextToken();
      if (field < 0) {
        parser.skipChildren();
      } else {
        readField(field, row, parser, source);
        guess = field + 1;
      }
    }
  }

  /** The field of that name, -1 if there is none. */
  private int find(String name, boolean[] exactly) {
    Integer field = exact.get(name);
    if (field != null) {
      exactly[field] = true;
      return field;
    }
    field = folded.get(name.toLowerCase(Locale.ROOT));
    return field == null || field < 0 || exactly[field] ? -1 : field;
  }

  private void readField(int field, Object[] row, JsonParser parser, byte[] source) throws IOException {
    int slot = slots[field];
    boolean isNull = parser.currentToken() == JsonToken.VALUE_NULL;
    try {
      if (slot >= 0) {
        row[slot] = isNull ? null : readers[field].read(parser, source);
      } else if (!isNull) {
        readers[field].check(parser, source);
      }
    } catch (Undecodable e) {
      throw e.inField(names[field].getValue());
    }
  }
}
