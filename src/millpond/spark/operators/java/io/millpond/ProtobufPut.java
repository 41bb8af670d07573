package io.millpond;

import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.Descriptors.EnumDescriptor;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/** Writes values without parts into one field. */
final class ProtobufPut {
  /** A column's value as it is on the wire: Long, Double, Float, Boolean or bytes; null if the field has no such value. */
  private interface Get {
    Object of(SpecializedGetters from, int index);
  }

  private final FieldDescriptor.Type kind;
  private final int number;
  private final Get get;
  private final Object zero;

  private ProtobufPut(FieldDescriptor field, Get get) {
    kind = field.getType();
    number = field.getNumber();
    this.get = get;
    zero = switch (field.getJavaType()) {
      case FLOAT -> (Object) 0f;
      case DOUBLE -> 0.0;
      case BOOLEAN -> false;
      case STRING, BYTE_STRING -> new byte[0];
      case ENUM -> (long) field.getEnumType().getValues().get(0).getNumber();
      default -> 0L;
    };
  }

  static ProtobufPut of(FieldDescriptor field, DataType type) {
    Get get = switch (field.getJavaType()) {
      case INT, LONG -> whole(field.getType(), type);
      case FLOAT -> (from, i) -> from.getFloat(i);
      case DOUBLE -> type instanceof FloatType ? (from, i) -> (double) from.getFloat(i) : (from, i) -> from.getDouble(i);
      case BOOLEAN -> (from, i) -> from.getBoolean(i);
      case ENUM -> symbol(field);
      case STRING -> text(type);
      case BYTE_STRING -> (from, i) -> from.getBinary(i);
      default -> throw new IllegalArgumentException(field.getFullName() + " has parts");
    };
    return new ProtobufPut(field, get);
  }

  /** With the field's number in front; nothing for a value that the field does not have. */
  void put(SpecializedGetters from, int index, CodedOutputStream out) throws IOException {
    Object value = get.of(from, index);
    if (value != null) {
      put(value, out);
    }
  }

  /** Where a default is as good as a field that is not there. */
  void putUnlessZero(SpecializedGetters from, int index, CodedOutputStream out) throws IOException {
    Object value = get.of(from, index);
    if (value != null && !isZero(value)) {
      put(value, out);
    }
  }

  /** The value at `index`, or the default if it is null or the field does not have it. */
  Object orZero(SpecializedGetters from, int index) {
    Object value = from.isNullAt(index) ? null : get.of(from, index);
    return value == null ? zero : value;
  }

  /** The value at `index`, which is not null; null if the field does not have it. */
  Object value(SpecializedGetters from, int index) {
    return get.of(from, index);
  }

  private static boolean isZero(Object value) {
    if (value instanceof byte[] bytes) {
      return bytes.length == 0;
    }
    return value.equals(0L) || value.equals(0f) || value.equals(0.0) || value.equals(false);
  }

  void put(Object value, CodedOutputStream out) throws IOException {
    out.writeTag(number, wire());
    putPlain(value, out);
  }

  private int wire() {
    return switch (kind) {
      case FIXED32, SFIXED32, FLOAT -> 5;
      case FIXED64, SFIXED64, DOUBLE -> 1;
      case STRING, BYTES -> 2;
      default -> 0;
    };
  }

  /** Without the field's number. */
  void putPlain(Object value, CodedOutputStream out) throws IOException {
    switch (kind) {
      case INT32, ENUM -> out.writeInt32NoTag((int) (long) value);
      case UINT32 -> out.writeUInt32NoTag((int) (long) value);
      case SINT32 -> out.writeSInt32NoTag((int) (long) value);
      case FIXED32, SFIXED32 -> out.writeFixed32NoTag((int) (long) value);
      case INT64, UINT64 -> out.writeUInt64NoTag((long) value);
      case SINT64 -> out.writeSInt64NoTag((long) value);
      case FIXED64, SFIXED64 -> out.writeFixed64NoTag((long) value);
      case FLOAT -> out.writeFloatNoTag((float) value);
      case DOUBLE -> out.writeDoubleNoTag((double) value);
      case BOOL -> out.writeBoolNoTag((boolean) value);
      default -> out.writeByteArrayNoTag((byte[]) value);
    }
  }

  /** A negative number has no unsigned form: as in a CAST that is not possible, there is none then. */
  private static Get whole(FieldDescriptor.Type kind, DataType type) {
    Get get = number(type);
    return switch (kind) {
      case UINT32, FIXED32, UINT64, FIXED64 -> (from, i) -> (long) get.of(from, i) < 0 ? null : get.of(from, i);
      default -> get;
    };
  }

  private static Get number(DataType type) {
    if (type instanceof LongType) {
      return (from, i) -> from.getLong(i);
    }
    if (type instanceof IntegerType) {
      return (from, i) -> (long) from.getInt(i);
    }
    return type instanceof ShortType ? (from, i) -> (long) from.getShort(i) : (from, i) -> (long) from.getByte(i);
  }

  /** A symbol that is not known is written as its number, which is what it was read as. */
  private static Get symbol(FieldDescriptor field) {
    EnumDescriptor type = field.getEnumType();
    boolean closed = type.isClosed();
    Map<String, Object> numbers = new HashMap<>();
    for (EnumValueDescriptor symbol : type.getValues()) {
      numbers.put(symbol.getName(), (long) symbol.getNumber());
    }
    return (from, i) -> {
      String text = from.getUTF8String(i).toString();
      Object known = numbers.get(text);
      return known != null || closed ? known : ofDigits(text);
    };
  }

  private static Object ofDigits(String text) {
    try {
      int number = Integer.parseInt(text);
      return Integer.toString(number).equals(text) ? (Object) (long) number : null;
    } catch (NumberFormatException e) {
      return null;
    }
  }

  private static Get text(DataType type) {
    if (type instanceof StringType) {
      return (from, i) -> bytes(from.getUTF8String(i));
    }
    if (type instanceof DecimalType decimal) {
      return (from, i) ->
          ascii(from.getDecimal(i, decimal.precision(), decimal.scale()).toJavaBigDecimal().toPlainString());
    }
    return type instanceof DateType
        ? (from, i) -> made(out -> JsonWriter.putDate(from.getInt(i), out))
        : (from, i) -> made(out -> JsonWriter.putTime(from.getLong(i) / 1000, out));
  }

  /** What is not UTF-8 (CAST of bytes makes it) is replaced, as in JSON. */
  private static byte[] bytes(UTF8String text) {
    return (text.isValid() ? text : text.makeValid()).getBytes();
  }

  private static byte[] ascii(String text) {
    return text.getBytes(java.nio.charset.StandardCharsets.ISO_8859_1);
  }

  private static byte[] made(java.util.function.Consumer<ByteWriter> fill) {
    ByteWriter out = new ByteWriter();
    fill.accept(out);
    return out.toBytes();
  }
}
