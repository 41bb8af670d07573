package io.millpond;

import org.apache.avro.Schema;
import org.apache.spark.sql.types.*;

/** Dates and times as Avro keeps them: numbers with a logical type, which is text in the schema. */
final class AvroLogical {
  private AvroLogical() {}

  /** From Avro's number to Spark's: days, or nanoseconds of the day, or microseconds since 1970. */
  interface Time {
    Object of(long value);
  }

  /** The logical type of a schema if it is one that fits its plain type, else the plain type's name. */
  static String of(Schema schema) {
    String plain = schema.getType().getName();
    Object given = schema.getObjectProp("logicalType");
    String logical = given == null ? "" : given.toString();
    boolean fits = switch (logical) {
      case "date", "time-millis" -> plain.equals("int");
      case "time-micros", "timestamp-millis", "timestamp-micros", "timestamp-nanos", "local-timestamp-millis",
          "local-timestamp-micros", "local-timestamp-nanos" -> plain.equals("long");
      case "decimal" -> plain.equals("bytes") || plain.equals("fixed");
      default -> false;
    };
    return fits ? logical : plain;
  }

  /** Null if a column of that type cannot come of it. */
  static Time reader(String meaning, DataType type) {
    if (type instanceof DateType) {
      return meaning.equals("date") ? value -> CalendarRange.days(value, "DATE", Long.toString(value)) : null;
    }
    if (type instanceof TimeType) {
      long factor = meaning.equals("time-millis") ? 1000 : meaning.equals("time-micros") ? 1 : 0;
      return factor == 0 ? null : value -> nanosOfDay(value, factor);
    }
    if (type instanceof TimestampType || type instanceof TimestampNTZType) {
      return timestamp(meaning.replaceFirst("^local-", ""), type);
    }
    return null;
  }

  /** A plain number is of milliseconds, as in JSON. */
  private static Time timestamp(String meaning, DataType type) {
    return switch (meaning) {
      case "timestamp-micros" -> value -> inRange(value, type, value);
      case "timestamp-nanos" -> value -> inRange(Math.floorDiv(value, 1000L), type, value);
      case "timestamp-millis", "int", "long" -> value -> micros(value, type);
      default -> null;
    };
  }

  static Object micros(long millis, DataType type) {
    try {
      return inRange(Math.multiplyExact(millis, 1000L), type, millis);
    } catch (ArithmeticException e) {
      throw Undecodable.notA(SqlTypes.name(type), Long.toString(millis));
    }
  }

  private static Object inRange(long micros, DataType type, long given) {
    return CalendarRange.micros(micros, SqlTypes.name(type), Long.toString(given));
  }

  private static Object nanosOfDay(long value, long factor) {
    if (value < 0 || value >= DateTimeText.MICROS_PER_DAY / factor) {
      throw Undecodable.notA("TIME", Long.toString(value));
    }
    return value * factor * 1000;
  }
}
