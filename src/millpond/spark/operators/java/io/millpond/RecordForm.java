package io.millpond;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;

/** How the bytes of a key or value stand for a row. */
interface RecordForm extends Serializable {
  /**
   * The row that `bytes` (never null) stand for.
   *
   * @throws Undecodable with the reason
   */
  InternalRow read(byte[] bytes);
}
