package io.millpond;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import com.fasterxml.jackson.core.io.schubfach.DoubleToDecimal;
import com.fasterxml.jackson.core.io.schubfach.FloatToDecimal;
import java.io.Serializable;
import java.time.LocalDate;
import java.util.Base64;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/** Writes one value of one SQL type as JSON. Holds no state: one writer serves all rows. */
abstract class JsonWriter implements Serializable {
  private static final byte[] NULL = "null".getBytes(ISO_8859_1);
  private static final byte[] TRUE = "true".getBytes(ISO_8859_1);
  private static final byte[] FALSE = "false".getBytes(ISO_8859_1);

  /** Writes the value at `index` of a row or an array; it is not null. */
  abstract void write(SpecializedGetters from, int index, ByteWriter out);

  /** Writes the value as the name of a field, which is text whatever the type. */
  void writeKey(SpecializedGetters from, int index, ByteWriter out) {
    out.put('"');
    write(from, index, out);
    out.put('"');
  }

  final void writeOrNull(SpecializedGetters from, int index, ByteWriter out) {
    if (from.isNullAt(index)) {
      out.put(NULL);
    } else {
      write(from, index, out);
    }
  }

  /** @param separator between date and time: a blank (sql) or T (iso8601) */
  static JsonWriter of(DataType type, char separator) {
    if (type instanceof StructType struct) {
      return new OfStruct(struct, separator);
    }
    if (type instanceof ArrayType array) {
      return new OfArray(array, separator);
    }
    if (type instanceof MapType map) {
      return new OfMap(map, separator);
    }
    if (type instanceof StringType) {
      return new OfText();
    }
    if (type instanceof BinaryType) {
      return quoted((from, i, out) -> out.put(Base64.getEncoder().encode(from.getBinary(i))));
    }
    JsonWriter number = ofNumber(type);
    return number != null ? number : ofTemporal(type, separator);
  }

  private static JsonWriter ofNumber(DataType type) {
    if (type instanceof LongType) {
      return plain((from, i, out) -> out.put(from.getLong(i)));
    }
    if (type instanceof IntegerType) {
      return plain((from, i, out) -> out.put(from.getInt(i)));
    }
    if (type instanceof ShortType) {
      return plain((from, i, out) -> out.put(from.getShort(i)));
    }
    if (type instanceof ByteType) {
      return plain((from, i, out) -> out.put((long) from.getByte(i)));
    }
    if (type instanceof DecimalType decimal) {
      return plain((from, i, out) -> putDecimal(from.getDecimal(i, decimal.precision(), decimal.scale()), out));
    }
    if (type instanceof BooleanType) {
      return plain((from, i, out) -> out.put(from.getBoolean(i) ? TRUE : FALSE));
    }
    // Before version 19 Java's own toString may take one digit too many: equal keys must have equal bytes everywhere.
    if (type instanceof DoubleType) {
      return floating((from, i) -> from.getDouble(i), (from, i) -> DoubleToDecimal.toString(from.getDouble(i)));
    }
    if (type instanceof FloatType) {
      return floating((from, i) -> from.getFloat(i), (from, i) -> FloatToDecimal.toString(from.getFloat(i)));
    }
    return null;
  }

  private static JsonWriter ofTemporal(DataType type, char separator) {
    if (type instanceof DateType) {
      return quoted((from, i, out) -> putDate(from.getInt(i), out));
    }
    if (type instanceof TimeType) {
      return quoted((from, i, out) -> putTime(from.getLong(i) / 1000, out));
    }
    if (type instanceof TimestampNTZType) {
      return quoted((from, i, out) -> putDateTime(from.getLong(i), separator, out));
    }
    if (type instanceof TimestampType) {
      return quoted((from, i, out) -> {
        putDateTime(from.getLong(i), separator, out);
        out.put('Z');
      });
    }
    throw new IllegalArgumentException("no JSON form of " + type.sql());
  }

  private static void putDecimal(Decimal value, ByteWriter out) {
    if (value.scale() == 0 && value.precision() <= Decimal.MAX_LONG_DIGITS()) {
      out.put(value.toUnscaledLong());
    } else {
      out.putAscii(value.toJavaBigDecimal().toPlainString());
    }
  }

  static void putDate(long epochDay, ByteWriter out) {
    LocalDate date = LocalDate.ofEpochDay(epochDay);
    int year = date.getYear();
    if (year < 0 || year > 9999) {
      out.put(year < 0 ? '-' : '+');
    }
    int size = Math.abs(year);
    out.putDigits(size, size > 99_999 ? 6 : size > 9999 ? 5 : 4).put('-');
    out.putDigits(date.getMonthValue(), 2).put('-').putDigits(date.getDayOfMonth(), 2);
  }

  /** Seconds, and milliseconds or microseconds if there are any. */
  static void putTime(long microsOfDay, ByteWriter out) {
    int seconds = (int) (microsOfDay / DateTimeText.MICROS_PER_SECOND);
    int micros = (int) (microsOfDay % DateTimeText.MICROS_PER_SECOND);
    out.putDigits(seconds / 3600, 2).put(':').putDigits(seconds / 60 % 60, 2).put(':').putDigits(seconds % 60, 2);
    if (micros != 0) {
      out.put('.').putDigits(micros % 1000 == 0 ? micros / 1000 : micros, micros % 1000 == 0 ? 3 : 6);
    }
  }

  private static void putDateTime(long micros, char separator, ByteWriter out) {
    putDate(Math.floorDiv(micros, DateTimeText.MICROS_PER_DAY), out);
    out.put(separator);
    putTime(Math.floorMod(micros, DateTimeText.MICROS_PER_DAY), out);
  }

  private interface Put extends Serializable {
    void put(SpecializedGetters from, int index, ByteWriter out);
  }

  private interface Get<T> extends Serializable {
    T get(SpecializedGetters from, int index);
  }

  private static JsonWriter plain(Put put) {
    return new JsonWriter() {
      @Override
      void write(SpecializedGetters from, int index, ByteWriter out) {
        put.put(from, index, out);
      }
    };
  }

  private static JsonWriter quoted(Put put) {
    return new JsonWriter() {
      @Override
      void write(SpecializedGetters from, int index, ByteWriter out) {
        out.put('"');
        put.put(from, index, out);
        out.put('"');
      }

      @Override
      void writeKey(SpecializedGetters from, int index, ByteWriter out) {
        write(from, index, out);
      }
    };
  }

  /** JSON has no number for NaN and the infinities: they are strings. */
  private static JsonWriter floating(Get<Number> value, Get<String> text) {
    return new JsonWriter() {
      @Override
      void write(SpecializedGetters from, int index, ByteWriter out) {
        if (Double.isFinite(value.get(from, index).doubleValue())) {
          out.putAscii(text.get(from, index));
        } else {
          writeKey(from, index, out);
        }
      }

      @Override
      void writeKey(SpecializedGetters from, int index, ByteWriter out) {
        out.put('"').putAscii(text.get(from, index)).put('"');
      }
    };
  }

  private static final class OfText extends JsonWriter {
    @Override
    void write(SpecializedGetters from, int index, ByteWriter out) {
      out.putQuoted(from.getUTF8String(index));
    }

    @Override
    void writeKey(SpecializedGetters from, int index, ByteWriter out) {
      write(from, index, out);
    }
  }

  /** An object with all fields in their order, null ones too. */
  private static final class OfStruct extends JsonWriter {
    /** `{"first":`, `,"second":` and so on. */
    private final byte[][] openings;
    private final JsonWriter[] writers;

    OfStruct(StructType struct, char separator) {
      StructField[] fields = struct.fields();
      openings = new byte[fields.length][];
      writers = new JsonWriter[fields.length];
      for (int i = 0; i < fields.length; i++) {
        ByteWriter opening = new ByteWriter().put(i == 0 ? '{' : ',');
        openings[i] = opening.putQuoted(UTF8String.fromString(fields[i].name())).put(':').toBytes();
        writers[i] = JsonWriter.of(fields[i].dataType(), separator);
      }
    }

    @Override
    void write(SpecializedGetters from, int index, ByteWriter out) {
      write(from.getStruct(index, writers.length), out);
    }

    void write(InternalRow row, ByteWriter out) {
      if (writers.length == 0) {
        out.put('{');
      }
      for (int i = 0; i < writers.length; i++) {
        out.put(openings[i]);
        writers[i].writeOrNull(row, i, out);
      }
      out.put('}');
    }
  }

  private static final class OfArray extends JsonWriter {
    private final JsonWriter element;

    OfArray(ArrayType array, char separator) {
      element = JsonWriter.of(array.elementType(), separator);
    }

    @Override
    void write(SpecializedGetters from, int index, ByteWriter out) {
      ArrayData values = from.getArray(index);
      out.put('[');
      for (int i = 0; i < values.numElements(); i++) {
        if (i > 0) {
          out.put(',');
        }
        element.writeOrNull(values, i, out);
      }
      out.put(']');
    }
  }

  private static final class OfMap extends JsonWriter {
    private final JsonWriter key;
    private final JsonWriter value;

    OfMap(MapType map, char separator) {
      key = JsonWriter.of(map.keyType(), separator);
      value = JsonWriter.of(map.valueType(), separator);
    }

    @Override
    void write(SpecializedGetters from, int index, ByteWriter out) {
      MapData map = from.getMap(index);
      out.put('{');
      for (int i = 0; i < map.numElements(); i++) {
        if (i > 0) {
          out.put(',');
        }
        key.writeKey(map.keyArray(), i, out);
        out.put(':');
        value.writeOrNull(map.valueArray(), i, out);
      }
      out.put('}');
    }
  }

  /** The writer of whole records: a row as an object, at the top. */
  static RecordWriter ofRecord(StructType struct, char separator) {
    OfStruct writer = new OfStruct(struct, separator);
    return row -> {
      ByteWriter out = new ByteWriter();
      writer.write(row, out);
      return out.toBytes();
    };
  }
}
