package io.millpond;

import java.io.ByteArrayOutputStream;
import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Writes one value of one SQL type in Avro, by the schema that is made of the columns: each value a union of null and its type. Holds
 * no state: one writer serves all rows.
 */
abstract class AvroWriter implements Serializable {
  /** The branches of every union. */
  private static final int NULL = 0;
  private static final int VALUE = 1;

  /** Writes the value at `index` of a row or an array; it is not null. */
  abstract void write(SpecializedGetters from, int index, ByteArrayOutputStream out);

  final void writeOrNull(SpecializedGetters from, int index, ByteArrayOutputStream out) {
    if (from.isNullAt(index)) {
      putLong(NULL, out);
    } else {
      putLong(VALUE, out);
      write(from, index, out);
    }
  }

  /** The writer of whole records behind the five bytes that name their schema. */
  static RecordWriter ofRecord(StructType struct, int schemaId) {
    OfStruct writer = new OfStruct(struct);
    return row -> {
      ByteArrayOutputStream out = new ByteArrayOutputStream(128);
      out.write(0);
      putFixed(Integer.reverseBytes(schemaId), 4, out);
      writer.write(row, out);
      return out.toByteArray();
    };
  }

  static AvroWriter of(DataType type) {
    if (type instanceof StructType struct) {
      return new OfStruct(struct);
    }
    if (type instanceof ArrayType array) {
      return new OfArray(array);
    }
    if (type instanceof MapType map) {
      return new OfMap(map);
    }
    Put put = ofScalar(type);
    return new AvroWriter() {
      @Override
      void write(SpecializedGetters from, int index, ByteArrayOutputStream out) {
        put.put(from, index, out);
      }
    };
  }

  private interface Put extends Serializable {
    void put(SpecializedGetters from, int index, ByteArrayOutputStream out);
  }

  private static Put ofScalar(DataType type) {
    if (type instanceof StringType) {
      return (from, i, out) -> putText(from.getUTF8String(i), out);
    }
    if (type instanceof BinaryType) {
      return (from, i, out) -> putBytes(from.getBinary(i), out);
    }
    if (type instanceof BooleanType) {
      return (from, i, out) -> out.write(from.getBoolean(i) ? 1 : 0);
    }
    if (type instanceof DoubleType) {
      return (from, i, out) -> putFixed(Double.doubleToLongBits(from.getDouble(i)), 8, out);
    }
    if (type instanceof FloatType) {
      return (from, i, out) -> putFixed(Float.floatToIntBits(from.getFloat(i)), 4, out);
    }
    if (type instanceof DecimalType decimal) {
      return (from, i, out) -> putBytes(digits(from.getDecimal(i, decimal.precision(), decimal.scale())), out);
    }
    return ofWhole(type);
  }

  private static Put ofWhole(DataType type) {
    if (type instanceof LongType || type instanceof TimestampType || type instanceof TimestampNTZType) {
      return (from, i, out) -> putLong(from.getLong(i), out);
    }
    if (type instanceof IntegerType || type instanceof DateType) {
      return (from, i, out) -> putLong(from.getInt(i), out);
    }
    if (type instanceof ShortType) {
      return (from, i, out) -> putLong(from.getShort(i), out);
    }
    if (type instanceof ByteType) {
      return (from, i, out) -> putLong(from.getByte(i), out);
    }
    if (type instanceof TimeType) {
      return (from, i, out) -> putLong(from.getLong(i) / 1000, out);
    }
    throw new IllegalArgumentException("no Avro form of " + type.sql());
  }

  private static byte[] digits(Decimal value) {
    return value.toJavaBigDecimal().unscaledValue().toByteArray();
  }

  /** What is not UTF-8 (CAST of bytes makes it) is replaced, as in JSON. */
  private static void putText(UTF8String text, ByteArrayOutputStream out) {
    putBytes((text.isValid() ? text : text.makeValid()).getBytes(), out);
  }

  private static void putBytes(byte[] bytes, ByteArrayOutputStream out) {
    putLong(bytes.length, out);
    out.writeBytes(bytes);
  }

  private static void putLong(long value, ByteArrayOutputStream out) {
    long rest = value << 1 ^ value >> 63;
    while ((rest & ~0x7FL) != 0) {
      out.write((int) (rest & 0x7F | 0x80));
      rest >>>= 7;
    }
    out.write((int) rest);
  }

  /** The low bytes of `bits`, the lowest first. */
  private static void putFixed(long bits, int width, ByteArrayOutputStream out) {
    for (int i = 0; i < width; i++) {
      out.write((int) (bits >>> 8 * i));
    }
  }

  private static final class OfStruct extends AvroWriter {
    private final AvroWriter[] fields;

    OfStruct(StructType struct) {
      fields = new AvroWriter[struct.length()];
      for (int i = 0; i < fields.length; i++) {
        fields[i] = of(struct.fields()[i].dataType());
      }
    }

    @Override
    void write(SpecializedGetters from, int index, ByteArrayOutputStream out) {
      write(from.getStruct(index, fields.length), out);
    }

    void write(InternalRow row, ByteArrayOutputStream out) {
      for (int i = 0; i < fields.length; i++) {
        fields[i].writeOrNull(row, i, out);
      }
    }
  }

  private static final class OfArray extends AvroWriter {
    private final AvroWriter element;

    OfArray(ArrayType array) {
      element = of(array.elementType());
    }

    @Override
    void write(SpecializedGetters from, int index, ByteArrayOutputStream out) {
      ArrayData values = from.getArray(index);
      int count = values.numElements();
      if (count > 0) {
        putLong(count, out);
      }
      for (int i = 0; i < count; i++) {
        element.writeOrNull(values, i, out);
      }
      putLong(0, out);
    }
  }

  private static final class OfMap extends AvroWriter {
    private final AvroWriter value;

    OfMap(MapType map) {
      value = of(map.valueType());
    }

    @Override
    void write(SpecializedGetters from, int index, ByteArrayOutputStream out) {
      MapData map = from.getMap(index);
      int count = map.numElements();
      if (count > 0) {
        putLong(count, out);
      }
      for (int i = 0; i < count; i++) {
        putText(map.keyArray().getUTF8String(i), out);
        value.writeOrNull(map.valueArray(), i, out);
      }
      putLong(0, out);
    }
  }
}
