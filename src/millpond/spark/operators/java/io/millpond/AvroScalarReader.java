package io.millpond;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import org.apache.avro.Schema;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/** The readers of the types that have no parts. */
final class AvroScalarReader {
  private AvroScalarReader() {}

  private interface Read {
    Object read(AvroInput in);
  }

  /** Null if a column of that type cannot come of the schema's. */
  static AvroReader of(Schema writer, DataType type) {
    Read read = switch (writer.getType()) {
      case INT, LONG -> ofWhole(AvroLogical.of(writer), type);
      case FLOAT -> ofFloating(AvroInput::readFloat, type);
      case DOUBLE -> ofFloating(AvroInput::readDouble, type);
      case BOOLEAN -> type instanceof BooleanType ? AvroInput::readBoolean : null;
      case STRING -> type instanceof StringType ? AvroScalarReader::text : null;
      case ENUM -> type instanceof StringType ? ofEnum(writer) : null;
      case BYTES -> ofBytes(writer, AvroInput::readBytes, type);
      case FIXED -> ofBytes(writer, in -> in.readFixed(writer.getFixedSize()), type);
      default -> null;
    };
    return read == null ? null : new AvroReader() {
      @Override
      Object read(AvroInput in) {
        return read.read(in);
      }
    };
  }

  static UTF8String text(AvroInput in) {
    UTF8String text = UTF8String.fromBytes(in.readBytes());
    if (!text.isValid()) {
      throw new Undecodable("not UTF-8, as VARCHAR must be");
    }
    return text;
  }

  private static Read ofEnum(Schema writer) {
    UTF8String[] symbols = writer.getEnumSymbols().stream().map(UTF8String::fromString).toArray(UTF8String[]::new);
    return in -> {
      long symbol = in.readLong();
      if (symbol < 0 || symbol >= symbols.length) {
        throw new Undecodable("not Avro of its schema: symbol " + symbol + " of " + symbols.length);
      }
      return symbols[(int) symbol];
    };
  }

  private static Read ofWhole(String meaning, DataType type) {
    if (type instanceof LongType || type instanceof IntegerType || type instanceof ShortType || type instanceof ByteType) {
      return in -> narrowed(in.readLong(), type);
    }
    if (type instanceof DoubleType) {
      return in -> (double) in.readLong();
    }
    if (type instanceof FloatType) {
      return in -> (float) (double) in.readLong();
    }
    if (type instanceof DecimalType decimal) {
      return in -> fitted(BigDecimal.valueOf(in.readLong()), decimal);
    }
    AvroLogical.Time time = AvroLogical.reader(meaning, type);
    return time == null ? null : in -> time.of(in.readLong());
  }

  static Object narrowed(long value, DataType type) {
    int bits = type.defaultSize() * 8;
    if (bits < 64 && (value < -1L << (bits - 1) || value > ~(-1L << (bits - 1)))) {
      throw Undecodable.notA(SqlTypes.name(type), Long.toString(value));
    }
    return switch (bits) {
      case 64 -> (Object) value;
      case 32 -> (Object) (int) value;
      case 16 -> (Object) (short) value;
      default -> (Object) (byte) value;
    };
  }

  private interface Number {
    double read(AvroInput in);
  }

  private static Read ofFloating(Number number, DataType type) {
    if (type instanceof DoubleType) {
      return number::read;
    }
    return type instanceof FloatType ? in -> single(number.read(in)) : null;
  }

  static Object single(double value) {
    float narrow = (float) value;
    if (Float.isInfinite(narrow) && !Double.isInfinite(value)) {
      throw Undecodable.notA("FLOAT", Double.toString(value));
    }
    return narrow;
  }

  private interface Bytes {
    byte[] read(AvroInput in);
  }

  private static Read ofBytes(Schema writer, Bytes bytes, DataType type) {
    if (type instanceof BinaryType) {
      return bytes::read;
    }
    if (!(type instanceof DecimalType decimal) || !AvroLogical.of(writer).equals("decimal")) {
      return null;
    }
    int scale = writer.getObjectProp("scale") instanceof Integer given ? given : 0;
    return in -> {
      byte[] digits = bytes.read(in);
      return fitted(new BigDecimal(digits.length == 0 ? BigInteger.ZERO : new BigInteger(digits), scale), decimal);
    };
  }

  /** Rounded half up to the column's scale. */
  static Object fitted(BigDecimal number, DecimalType type) {
    BigDecimal rounded = number.setScale(type.scale(), RoundingMode.HALF_UP);
    if (rounded.precision() > type.precision()) {
      throw Undecodable.notA(SqlTypes.name(type), number.toString());
    }
    return Decimal.apply(rounded, type.precision(), type.scale());
  }
}
