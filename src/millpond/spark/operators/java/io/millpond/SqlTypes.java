package io.millpond;

import org.apache.spark.sql.types.*;

/** The names that users know Spark's types by. */
final class SqlTypes {
  private SqlTypes() {}

  static String name(DataType type) {
    if (type instanceof DecimalType decimal) {
      return "DECIMAL(" + decimal.precision() + ", " + decimal.scale() + ")";
    }
    if (type instanceof StringType) {
      return "VARCHAR";
    }
    if (type instanceof BinaryType) {
      return "BYTES";
    }
    if (type instanceof TimeType) {
      return "TIME";
    }
    if (type instanceof TimestampNTZType) {
      return "TIMESTAMP";
    }
    if (type instanceof TimestampType) {
      return "TIMESTAMP_LTZ";
    }
    if (type instanceof ArrayType || type instanceof MapType || type instanceof StructType) {
      return type.typeName().toUpperCase(java.util.Locale.ROOT);
    }
    return type instanceof IntegerType ? "INTEGER" : type.sql();
  }
}
