package io.millpond;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/** Writes a row as one line of delimited text, without a line break at its end. */
final class DelimitedWriter implements RecordWriter {
  /** By column; null for text, which is written as it is. */
  private final JsonWriter[] writers;
  private final char delimiter;

  /** @param separator between date and time: a blank (sql) or T (iso8601) */
  DelimitedWriter(StructType struct, char separator, String delimiter) {
    StructField[] fields = struct.fields();
    writers = new JsonWriter[fields.length];
    for (int i = 0; i < fields.length; i++) {
      DataType type = fields[i].dataType();
      writers[i] = type instanceof StringType ? null : JsonWriter.of(type, separator);
    }
    this.delimiter = delimiter.charAt(0);
  }

  @Override
  public byte[] write(InternalRow row) {
    StringBuilder line = new StringBuilder();
    for (int i = 0; i < writers.length; i++) {
      if (i > 0) {
        line.append(delimiter);
      }
      if (!row.isNullAt(i)) {
        put(text(row, i), line);
      }
    }
    return line.toString().getBytes(UTF_8);
  }

  private String text(InternalRow row, int column) {
    if (writers[column] == null) {
      UTF8String text = row.getUTF8String(column);
      return (text.isValid() ? text : text.makeValid()).toString();
    }
    ByteWriter out = new ByteWriter();
    writers[column].writeKey(row, column, out);
    byte[] quoted = out.toBytes();
    return new String(quoted, 1, quoted.length - 2, ISO_8859_1);
  }

  /** In quotes if it would be read otherwise without them, or by readers that trim. */
  private void put(String text, StringBuilder line) {
    boolean plain = !text.isEmpty() && text.charAt(0) > ' ' && text.charAt(text.length() - 1) > ' ';
    for (int i = 0; plain && i < text.length(); i++) {
      char c = text.charAt(i);
      plain = c != delimiter && c != '"' && c != '\r' && c != '\n';
    }
    if (plain) {
      line.append(text);
    } else {
      line.append('"').append(text.replace("\"", "\"\"")).append('"');
    }
  }
}
