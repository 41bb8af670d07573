package io.millpond;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;

/** From a row to the key or value of a Kafka record; called by Spark's generated code. */
public final class Encoder implements Serializable {
  private final RecordWriter writer;
  private final String description;

  Encoder(RecordWriter writer, String description) {
    this.writer = writer;
    this.description = description;
  }

  public byte[] encode(InternalRow row) {
    return row == null ? null : writer.write(row);
  }

  /** What EXPLAIN shows. */
  @Override
  public String toString() {
    return description;
  }
}
