package io.millpond;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.exc.InputCoercionException;
import java.io.IOException;
import java.util.Arrays;
import java.util.Base64;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/** The readers of the types that have no parts. */
abstract class JsonScalarReader extends JsonReader {
  JsonScalarReader(DataType type) {
    super(type);
  }

  /** The value that a text stands for; also of a JSON string where another token is the rule. */
  abstract Object parse(String text);

  @Override
  Object read(JsonParser parser, byte[] source) throws IOException {
    if (parser.currentToken() != JsonToken.VALUE_STRING) {
      throw bad(parser);
    }
    return parse(parser.getText());
  }

  @Override
  Object readKey(String text) {
    return parse(text);
  }

  static JsonReader of(DataType type) {
    if (type instanceof StringType) {
      return new Text(type);
    }
    if (type instanceof LongType || type instanceof IntegerType || type instanceof ShortType || type instanceof ByteType) {
      return new Whole(type);
    }
    if (type instanceof DoubleType || type instanceof FloatType) {
      return new Floating(type);
    }
    if (type instanceof DecimalType decimal) {
      return new Exact(decimal);
    }
    if (type instanceof BooleanType) {
      return new Truth(type);
    }
    return type instanceof BinaryType ? new Binary(type) : temporal(type);
  }

  private static JsonReader temporal(DataType type) {
    if (type instanceof TimestampType || type instanceof TimestampNTZType) {
      return new Timestamp(type);
    }
    if (type instanceof DateType) {
      return new Day(type);
    }
    if (type instanceof TimeType) {
      return new TimeOfDay(type);
    }
    throw new IllegalArgumentException("no JSON form of " + type.sql());
  }

  /** Strings; numbers and truth values by their text; objects and arrays by their JSON text as it stands. */
  private static final class Text extends JsonScalarReader {
    Text(DataType type) {
      super(type);
    }

    @Override
    Object read(JsonParser parser, byte[] source) throws IOException {
      if (parser.currentToken().isScalarValue()) {
        return text(parser);
      }
      int start = (int) parser.currentTokenLocation().getByteOffset();
      parser.skipChildren();
      int end = (int) parser.currentLocation().getByteOffset();
      return UTF8String.fromBytes(Arrays.copyOfRange(source, start, end));
    }

    @Override
    void check(JsonParser parser, byte[] source) throws IOException {
      parser.skipChildren();
    }

    @Override
    Object parse(String text) {
      return UTF8String.fromString(text);
    }

    /** ASCII goes straight from the parser's characters to bytes; most text is that. */
    private static UTF8String text(JsonParser parser) throws IOException {
      char[] chars = parser.getTextCharacters();
      int offset = parser.getTextOffset();
      int length = parser.getTextLength();
      byte[] bytes = new byte[length];
      for (int i = 0; i < length; i++) {
        char c = chars[offset + i];
        if (c >= 0x80) {
          return UTF8String.fromString(new String(chars, offset, length));
        }
        bytes[i] = (byte) c;
      }
      return UTF8String.fromBytes(bytes);
    }
  }

  /** TINYINT to BIGINT. */
  private static final class Whole extends JsonScalarReader {
    private final DataType sparkType;
    private final long min;
    private final long max;

    Whole(DataType type) {
      super(type);
      sparkType = type;
      int bits = type.defaultSize() * 8;
      min = -1L << (bits - 1);
      max = ~min;
    }

    @Override
    Object read(JsonParser parser, byte[] source) throws IOException {
      if (parser.currentToken() == JsonToken.VALUE_NUMBER_INT) {
        return narrowed(number(parser));
      }
      if (parser.currentToken() == JsonToken.VALUE_NUMBER_FLOAT || parser.currentToken() == JsonToken.VALUE_STRING) {
        return parse(parser.getText());
      }
      throw bad(parser);
    }

    private long number(JsonParser parser) throws IOException {
      long value;
      try {
        value = parser.getLongValue();
      } catch (InputCoercionException e) {
        throw bad(parser);
      }
      if (value < min || value > max) {
        throw bad(parser);
      }
      return value;
    }

    @Override
    Object parse(String text) {
      return narrowed(NumberText.toLong(text, min, max, type));
    }

    private Object narrowed(long value) {
      return switch (sparkType.defaultSize()) {
        case 8 -> (Object) value;
        case 4 -> (Object) (int) value;
        case 2 -> (Object) (short) value;
        default -> (Object) (byte) value;
      };
    }
  }

  /** FLOAT and DOUBLE: numbers, numbers in strings, and the three values that JSON has no number for. */
  private static final class Floating extends JsonScalarReader {
    private final boolean isDouble;

    Floating(DataType type) {
      super(type);
      isDouble = type instanceof DoubleType;
    }

    @Override
    Object read(JsonParser parser, byte[] source) throws IOException {
      JsonToken token = parser.currentToken();
      if (token.isNumeric() || token == JsonToken.VALUE_STRING) {
        return parse(parser.getText());
      }
      throw bad(parser);
    }

    @Override
    Object parse(String text) {
      switch (text) {
        case "NaN":
          return of(Double.NaN);
        case "Infinity":
          return of(Double.POSITIVE_INFINITY);
        case "-Infinity":
          return of(Double.NEGATIVE_INFINITY);
        default:
          if (isDouble) {
            return NumberText.toDouble(text, type);
          }
          return NumberText.toFloat(text, type);
      }
    }

    private Object of(double value) {
      if (isDouble) {
        return value;
      }
      return (float) value;
    }
  }

  private static final class Exact extends JsonScalarReader {
    private final int precision;
    private final int scale;

    Exact(DecimalType type) {
      super(type);
      precision = type.precision();
      scale = type.scale();
    }

    @Override
    Object read(JsonParser parser, byte[] source) throws IOException {
      JsonToken token = parser.currentToken();
      if (token.isNumeric() || token == JsonToken.VALUE_STRING) {
        return parse(parser.getText());
      }
      throw bad(parser);
    }

    @Override
    Object parse(String text) {
      return NumberText.toDecimal(text, precision, scale, type);
    }
  }

  private static final class Truth extends JsonScalarReader {
    Truth(DataType type) {
      super(type);
    }

    @Override
    Object read(JsonParser parser, byte[] source) throws IOException {
      return parser.currentToken().isBoolean() ? parser.getBooleanValue() : super.read(parser, source);
    }

    @Override
    Object parse(String text) {
      if (text.equalsIgnoreCase("true")) {
        return Boolean.TRUE;
      }
      if (text.equalsIgnoreCase("false")) {
        return Boolean.FALSE;
      }
      throw Undecodable.notA(type, text);
    }
  }

  /** BYTES and VARBINARY in base64. */
  private static final class Binary extends JsonScalarReader {
    Binary(DataType type) {
      super(type);
    }

    @Override
    Object parse(String text) {
      try {
        return Base64.getDecoder().decode(text);
      } catch (IllegalArgumentException e) {
        throw new Undecodable(Undecodable.quote(text) + " is not base64, as " + type + " must be");
      }
    }
  }

  private static final class Day extends JsonScalarReader {
    Day(DataType type) {
      super(type);
    }

    @Override
    Object parse(String text) {
      return DateTimeText.toDays(text, type);
    }
  }

  /** TIME; Spark keeps nanoseconds of the day. */
  private static final class TimeOfDay extends JsonScalarReader {
    TimeOfDay(DataType type) {
      super(type);
    }

    @Override
    Object parse(String text) {
      return DateTimeText.toMicrosOfDay(text, type) * 1000;
    }
  }

  /** TIMESTAMP and TIMESTAMP_LTZ: text, or a number of milliseconds since 1970 in UTC. */
  private static final class Timestamp extends JsonScalarReader {
    /** Microseconds in 64 bits reach the years of six digits; that many milliseconds have 15 digits before the point. */
    private static final int MILLIS_PRECISION = 18;

    private final boolean zoned;

    Timestamp(DataType type) {
      super(type);
      zoned = type instanceof TimestampType;
    }

    @Override
    Object read(JsonParser parser, byte[] source) throws IOException {
      return parser.currentToken().isNumeric() ? ofMillis(parser.getText()) : super.read(parser, source);
    }

    private Object ofMillis(String text) {
      return CalendarRange.micros(NumberText.toDecimal(text, MILLIS_PRECISION, 3, type).toUnscaledLong(), type, text);
    }

    @Override
    Object parse(String text) {
      return zoned ? DateTimeText.toInstantMicros(text, type) : DateTimeText.toMicros(text, type);
    }
  }
}
