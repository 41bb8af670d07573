package io.millpond;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * From the key or value of a Kafka record to a row. Spark's generated code calls `decode` on one instance per task; there is no
 * conversion in between.
 */
public final class Decoder implements Serializable {
  /**
   * The longest key or value that is decoded. Kafka's own default for a record is 1 MB; what is longer than this could not be written
   * to any topic by us, and ties up memory in every copy that the query makes of it.
   */
  static final int MAX_BYTES = 8 << 20;

  private final RecordForm form;
  private final boolean ofKey;
  private final int scan;
  private final BadRecords badRecords;
  private final String description;
  /** Of the partition that this task reads. */
  private transient Progress.Cell progress;

  Decoder(RecordForm form, boolean ofKey, int scan, BadRecords badRecords, String description) {
    this.form = form;
    this.ofKey = ofKey;
    this.scan = scan;
    this.badRecords = badRecords;
    this.description = description;
  }

  /**
   * The row, or null: for a null (which is no error) and for bytes that are not a row (which `BadRecords` hears of).
   *
   * @throws BadRecords.Stop if undecodable records are to end the query
   */
  public InternalRow decode(byte[] key, byte[] value, UTF8String topic, int partition, long offset) {
    byte[] bytes = ofKey ? key : value;
    if (!ofKey) {
      note(partition, offset);
    }
    if (bytes == null) {
      return null;
    }
    try {
      if (bytes.length > MAX_BYTES) {
        throw new Undecodable(bytes.length + " bytes are more than the limit of " + MAX_BYTES);
      }
      return form.read(bytes);
    } catch (Undecodable e) {
      String reason = ofKey ? "key: " + e.getMessage() : e.getMessage();
      badRecords.report(key, value, String.valueOf(topic), partition, offset, reason);
      return null;
    }
  }

  private void note(int partition, long offset) {
    if (progress == null || progress.partition != partition) {
      progress = Progress.cell(badRecords.queryId(), scan, partition);
    }
    progress.read(offset);
  }

  /** What EXPLAIN shows. */
  @Override
  public String toString() {
    return description;
  }
}
