package io.millpond;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;

/** How a row becomes the bytes of a key or value. */
interface RecordWriter extends Serializable {
  /** The bytes of `row`; null for a record without a key, or for a tombstone. */
  byte[] write(InternalRow row);
}
