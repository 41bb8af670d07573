package io.millpond;

import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.*;

/**
 * Writes rows as messages of one type, always the same bytes for the same row: fields in the order of their numbers, entries of maps in
 * that of their keys. A null is a field that is not there. That the columns fit the message was checked when the query was planned.
 */
final class ProtobufWriter {
  /** Writes the value at `index` of a row; it is not null. */
  interface Put {
    void put(SpecializedGetters from, int index, CodedOutputStream out) throws IOException;
  }

  private static final byte[] NONE = new byte[0];

  private final int[] columns;
  private final Put[] puts;

  private ProtobufWriter(Descriptor message, StructType struct) {
    Map<Integer, Integer> byNumber = new TreeMap<>();
    for (int i = 0; i < struct.length(); i++) {
      byNumber.put(ProtobufReader.find(message, struct.fields()[i].name()).getNumber(), i);
    }
    columns = byNumber.values().stream().mapToInt(i -> i).toArray();
    puts = new Put[columns.length];
    int next = 0;
    for (Map.Entry<Integer, Integer> entry : byNumber.entrySet()) {
      puts[next++] = put(message.findFieldByNumber(entry.getKey()), struct.fields()[entry.getValue()].dataType());
    }
  }

  /**
   * The writer of whole records.
   *
   * @param settings the message, as `ProtobufSchemas` has it, and `schema.id` if it is to stand in front of each record
   */
  static RecordWriter ofRecord(StructType struct, Map<String, String> settings) {
    return new OfRecord(struct, ProtobufSchemas.ofMessage(settings), header(settings.get("schema.id")));
  }

  /** A zero byte, the schema's id, and a zero for the first message of its file. */
  private static byte[] header(String schemaId) {
    return schemaId == null ? NONE : ByteBuffer.allocate(6).putInt(1, Integer.parseInt(schemaId)).array();
  }

  /** Descriptors do not travel to where the tasks run, what they are made of does. */
  private static final class OfRecord implements RecordWriter {
    private final StructType struct;
    private final Map<String, String> settings;
    private final byte[] header;
    private transient ProtobufWriter writer;

    OfRecord(StructType struct, Map<String, String> settings, byte[] header) {
      this.struct = struct;
      this.settings = settings;
      this.header = header;
    }

    @Override
    public byte[] write(InternalRow row) {
      if (writer == null) {
        writer = new ProtobufWriter(ProtobufSchemas.given(settings), struct);
      }
      return writer.bytes(row, header);
    }
  }

  private byte[] bytes(SpecializedGetters row, byte[] header) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(128);
    bytes.writeBytes(header);
    try {
      CodedOutputStream out = CodedOutputStream.newInstance(bytes, 256);
      write(row, out);
      out.flush();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }

  private void write(SpecializedGetters row, CodedOutputStream out) throws IOException {
    for (int i = 0; i < columns.length; i++) {
      if (!row.isNullAt(columns[i])) {
        puts[i].put(row, columns[i], out);
      }
    }
  }

  private static Put put(FieldDescriptor field, DataType type) {
    if (field.isMapField()) {
      return new ProtobufMapWriter(field, (MapType) type);
    }
    int number = field.getNumber();
    if (field.getJavaType() == FieldDescriptor.JavaType.MESSAGE) {
      ToBytes message = message(field.getMessageType(), field.isRepeated() ? ((ArrayType) type).elementType() : type);
      return field.isRepeated()
          ? (from, i, out) -> putMessages(number, from.getArray(i), message, out)
          : (from, i, out) -> putMessage(number, message.of(from, i), out);
    }
    if (field.isRepeated()) {
      return new ProtobufArrayWriter(field, (ArrayType) type);
    }
    ProtobufPut put = ProtobufPut.of(field, type);
    return field.hasPresence() ? put::put : put::putUnlessZero;
  }

  private static void putMessage(int number, byte[] message, CodedOutputStream out) throws IOException {
    if (message != null) {
      out.writeByteArray(number, message);
    }
  }

  private static void putMessages(
      int number, ArrayData values, ToBytes message, CodedOutputStream out)
      throws IOException {
    for (int i = 0; i < values.numElements(); i++) {
      out.writeByteArray(number, orEmpty(message, values, i));
    }
  }

  /** The bytes of a message that is always there. */
  static byte[] orEmpty(ToBytes message, SpecializedGetters from, int index) throws IOException {
    byte[] bytes = from.isNullAt(index) ? null : message.of(from, index);
    return bytes == null ? NONE : bytes;
  }

  /** A message inside another, without its length; null if it has no such value. */
  interface ToBytes {
    byte[] of(SpecializedGetters from, int index) throws IOException;
  }

  static ToBytes message(Descriptor message, DataType type) {
    if (ProtobufMessage.isWrapper(message)) {
      ProtobufPut put = ProtobufPut.of(message.findFieldByNumber(1), type);
      return (from, i) -> put.value(from, i) == null ? null : bytes(out -> put.putUnlessZero(from, i, out));
    }
    if (ProtobufMessage.isTimestamp(message) && !(type instanceof StructType)) {
      return (from, i) -> bytes(out -> putTimestamp(from.getLong(i), out));
    }
    StructType struct = (StructType) type;
    ProtobufWriter writer = new ProtobufWriter(message, struct);
    return (from, i) -> writer.bytes(from.getStruct(i, struct.length()), NONE);
  }

  private interface Fill {
    void into(CodedOutputStream out) throws IOException;
  }

  private static byte[] bytes(Fill fill) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(32);
    CodedOutputStream out = CodedOutputStream.newInstance(bytes, 64);
    fill.into(out);
    out.flush();
    return bytes.toByteArray();
  }

  /** google.protobuf.Timestamp: seconds, and nanoseconds that are never negative. */
  private static void putTimestamp(long micros, CodedOutputStream out) throws IOException {
    long seconds = Math.floorDiv(micros, DateTimeText.MICROS_PER_SECOND);
    int nanos = (int) Math.floorMod(micros, DateTimeText.MICROS_PER_SECOND) * 1000;
    if (seconds != 0) {
      out.writeInt64(1, seconds);
    }
    if (nanos != 0) {
      out.writeInt32(2, nanos);
    }
  }
}
