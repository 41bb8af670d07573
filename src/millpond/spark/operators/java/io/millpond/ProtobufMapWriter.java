package io.millpond;

import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.Descriptors.FieldDescriptor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.MapType;

/** Writes a MAP: an entry is a message of a key and a value, both of them always there. A null value is the default. */
final class ProtobufMapWriter implements ProtobufWriter.Put {
  private final int number;
  private final ProtobufPut key;
  private final FieldDescriptor valueField;
  /** One of the two is null. */
  private final ProtobufPut value;
  private final ProtobufWriter.ToBytes message;

  ProtobufMapWriter(FieldDescriptor field, MapType type) {
    number = field.getNumber();
    key = ProtobufPut.of(field.getMessageType().findFieldByNumber(1), type.keyType());
    valueField = field.getMessageType().findFieldByNumber(2);
    boolean nested = valueField.getJavaType() == FieldDescriptor.JavaType.MESSAGE;
    value = nested ? null : ProtobufPut.of(valueField, type.valueType());
    message = nested ? ProtobufWriter.message(valueField.getMessageType(), type.valueType()) : null;
  }

  @Override
  public void put(SpecializedGetters from, int index, CodedOutputStream out) throws IOException {
    MapData map = from.getMap(index);
    Map<Object, Integer> places = new TreeMap<>(ProtobufMapWriter::compare);
    for (int i = 0; i < map.numElements(); i++) {
      Object name = key.value(map.keyArray(), i);
      if (name != null) {
        places.put(name, i);
      }
    }
    for (Map.Entry<Object, Integer> place : places.entrySet()) {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream(32);
      CodedOutputStream entry = CodedOutputStream.newInstance(bytes, 64);
      key.put(place.getKey(), entry);
      putValue(map, place.getValue(), entry);
      entry.flush();
      out.writeByteArray(number, bytes.toByteArray());
    }
  }

  private void putValue(MapData map, int index, CodedOutputStream out) throws IOException {
    if (message == null) {
      value.put(value.orZero(map.valueArray(), index), out);
    } else {
      out.writeByteArray(valueField.getNumber(), ProtobufWriter.orEmpty(message, map.valueArray(), index));
    }
  }

  @SuppressWarnings("unchecked")
  private static int compare(Object one, Object other) {
    return one instanceof byte[] bytes
        ? Arrays.compareUnsigned(bytes, (byte[]) other)
        : ((Comparable<Object>) one).compareTo(other);
  }
}
