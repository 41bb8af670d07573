package io.millpond;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;

/**
 * A struct as the bytes of Spark's own row format, and back: an operator that only passes rows through need not know their columns,
 * and nothing is converted on the way in, out, or into its state. Equal structs have equal bytes.
 */
public final class Packed implements Serializable {
  private final StructType schema;
  private transient UnsafeProjection projection;

  Packed(StructType schema) {
    this.schema = schema;
  }

  public byte[] pack(InternalRow row) {
    if (row == null) {
      return null;
    }
    if (projection == null) {
      projection = UnsafeProjection.create(schema);
    }
    return projection.apply(row).getBytes().clone();
  }

  public InternalRow unpack(byte[] bytes) {
    if (bytes == null) {
      return null;
    }
    UnsafeRow row = new UnsafeRow(schema.length());
    row.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length);
    return row;
  }

  /** What EXPLAIN shows. */
  @Override
  public String toString() {
    return schema.sql();
  }
}
