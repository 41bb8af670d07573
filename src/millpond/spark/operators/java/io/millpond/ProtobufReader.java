package io.millpond;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.WireFormat;
import java.io.IOException;
import java.util.Arrays;
import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Reads messages of one type. A column is found by its exact name, then without case; one without a field is NULL. Columns that nobody
 * needs are type-checked, but not kept; fields without a column are passed over. Fields may come in any order, twice (the last counts),
 * and in pieces, so what is read is kept as it is until the message's end. Holds no state: one reader serves all records.
 */
final class ProtobufReader {
  /** By number. */
  private final int[] numbers;
  private final ProtobufField[] fields;
  private final String[] names;
  /** Position in the result by field, -1 for one that is only checked. */
  private final int[] slots;
  private final int width;

  /** @param needed the names that the result has; null for all */
  ProtobufReader(Descriptor message, StructType struct, Collection<String> needed) {
    Map<Integer, Integer> columns = new TreeMap<>();
    int[] places = new int[struct.length()];
    int next = 0;
    for (int i = 0; i < struct.length(); i++) {
      String name = struct.fields()[i].name();
      places[i] = needed == null || needed.contains(name) ? next++ : -1;
      FieldDescriptor field = find(message, name);
      if (field != null && (!columns.containsKey(field.getNumber()) || field.getName().equals(name))) {
        columns.put(field.getNumber(), i);
      }
    }
    width = next;
    numbers = columns.keySet().stream().mapToInt(n -> n).toArray();
    fields = new ProtobufField[numbers.length];
    names = new String[numbers.length];
    slots = new int[numbers.length];
    for (int i = 0; i < numbers.length; i++) {
      StructField column = struct.fields()[columns.get(numbers[i])];
      fields[i] = ProtobufField.of(message.findFieldByNumber(numbers[i]), column.dataType());
      names[i] = column.name();
      slots[i] = places[columns.get(numbers[i])];
    }
  }

  static FieldDescriptor find(Descriptor message, String name) {
    FieldDescriptor found = null;
    int alike = 0;
    for (FieldDescriptor field : message.getFields()) {
      if (field.getName().equals(name)) {
        return field;
      }
      if (field.getName().equalsIgnoreCase(name)) {
        found = field;
        alike++;
      }
    }
    return alike == 1 ? found : null;
  }

  /** A whole record. */
  GenericInternalRow read(CodedInputStream in) throws IOException {
    Object[] state = begin();
    readInto(state, in);
    return finish(state);
  }

  /** What `readInto` reads into; untouched it is a message without fields. */
  Object[] begin() {
    return new Object[fields.length];
  }

  /** Reads up to the stream's end or limit. */
  void readInto(Object[] state, CodedInputStream in) throws IOException {
    for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
      int i = Arrays.binarySearch(numbers, WireFormat.getTagFieldNumber(tag));
      if (i >= 0 && fields[i].takes(WireFormat.getTagWireType(tag))) {
        state[i] = fields[i].read(in, WireFormat.getTagWireType(tag), state[i]);
      } else if (!in.skipField(tag)) {
        throw new Undecodable("not a Protobuf message: a group ends that did not begin");
      }
    }
  }

  GenericInternalRow finish(Object[] state) {
    Object[] row = new Object[width];
    for (int i = 0; i < fields.length; i++) {
      try {
        Object value = fields[i].value(state[i]);
        if (slots[i] >= 0) {
          row[slots[i]] = value;
        }
      } catch (Undecodable e) {
        throw e.inField(names[i]);
      }
    }
    return new GenericInternalRow(row);
  }

  /** The value of a message's only column. */
  Object only(Object[] state) {
    return fields[0].value(state[0]);
  }
}
