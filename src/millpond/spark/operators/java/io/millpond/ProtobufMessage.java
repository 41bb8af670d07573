package io.millpond;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.Descriptors.Descriptor;
import java.io.IOException;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.*;

/** Reads a message inside another: a STRUCT, or one of those that come with Protobuf and stand for a scalar. */
final class ProtobufMessage {
  private static final String PACKAGE = "google.protobuf.";
  private static final Set<String> WRAPPERS = Set.of(
      "DoubleValue", "FloatValue", "Int64Value", "UInt64Value", "Int32Value", "UInt32Value", "BoolValue", "StringValue",
      "BytesValue");
  private static final StructType TIMESTAMP =
      new StructType().add("seconds", DataTypes.LongType).add("nanos", DataTypes.IntegerType);

  /** What becomes of what was read. */
  private interface Finish {
    Object of(ProtobufReader reader, Object[] state);
  }

  private final ProtobufReader reader;
  private final Finish finish;

  private ProtobufMessage(ProtobufReader reader, Finish finish) {
    this.reader = reader;
    this.finish = finish;
  }

  /** Null if the type cannot come of the message. */
  static ProtobufMessage of(Descriptor message, DataType type) {
    if (isWrapper(message)) {
      boolean fits = ProtobufScalar.of(message.findFieldByNumber(1), type) != null;
      ProtobufReader reader = new ProtobufReader(message, new StructType().add("value", type), null);
      return fits ? new ProtobufMessage(reader, ProtobufReader::only) : null;
    }
    if (isTimestamp(message) && (type instanceof TimestampType || type instanceof TimestampNTZType)) {
      ProtobufReader reader = new ProtobufReader(message, TIMESTAMP, null);
      return new ProtobufMessage(reader, (r, state) -> micros(r.finish(state), type));
    }
    if (type instanceof StructType struct) {
      return new ProtobufMessage(new ProtobufReader(message, struct, null), ProtobufReader::finish);
    }
    return null;
  }

  static boolean isWrapper(Descriptor message) {
    return message.getFullName().startsWith(PACKAGE) && WRAPPERS.contains(message.getName());
  }

  static boolean isTimestamp(Descriptor message) {
    return message.getFullName().equals(PACKAGE + "Timestamp");
  }

  private static Object micros(InternalRow timestamp, DataType type) {
    long seconds = timestamp.getLong(0);
    try {
      long micros = Math.addExact(Math.multiplyExact(seconds, 1_000_000L), Math.floorDiv(timestamp.getInt(1), 1000));
      return CalendarRange.micros(micros, SqlTypes.name(type), seconds + " s");
    } catch (ArithmeticException e) {
      throw Undecodable.notA(SqlTypes.name(type), seconds + " s");
    }
  }

  /** What is known of the message after its next piece, which has its length in front. */
  Object[] read(CodedInputStream in, Object[] before) throws IOException {
    Object[] state = before == null ? reader.begin() : before;
    int limit = in.pushLimit(in.readRawVarint32());
    reader.readInto(state, in);
    in.popLimit(limit);
    return state;
  }

  Object value(Object[] state) {
    return finish.of(reader, state);
  }

  /** The value of a message without fields. */
  Object empty() {
    return value(reader.begin());
  }
}
