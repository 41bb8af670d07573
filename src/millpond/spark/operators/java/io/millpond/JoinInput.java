package io.millpond;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;

/** The columns that Python builds the inputs and the result of a join from. */
public final class JoinInput {
  /** That of Spark's own hash expression. */
  private static final int SEED = 42;

  private JoinInput() {}

  /** The bytes of a struct column. */
  public static Column pack(String schema, Column struct) {
    return Codec.call(new Packed(struct(schema)), "pack", DataTypes.BinaryType, List.of(struct), false);
  }

  /** The struct of such bytes; null for null. */
  public static Column unpack(String schema, Column bytes) {
    StructType struct = struct(schema);
    return Codec.call(new Packed(struct), "unpack", struct, List.of(bytes), false);
  }

  /** The column `time` (microseconds), seen by a witness of its side; `record` is the record's timestamp in milliseconds. */
  public static Column witnessed(String queryId, int join, int side, Column time, Column partition, Column record) {
    JoinWitness witness = new JoinWitness(queryId, join, side);
    return Codec.call(witness, "see", DataTypes.LongType, List.of(time, partition, record), false);
  }

  /** A key for each shuffle partition, that no row has: what is sent to it gets there. */
  public static List<byte[]> keyOfEachPartition(int partitions) {
    List<byte[]> found = new ArrayList<>(java.util.Collections.nCopies(partitions, null));
    int missing = partitions;
    for (int n = 0; missing > 0; n++) {
      byte[] key = ByteBuffer.allocate(4).putInt(n).array();
      int hash = Murmur3_x86_32.hashUnsafeBytes(key, Platform.BYTE_ARRAY_OFFSET, key.length, SEED);
      int partition = Math.floorMod(hash, partitions);
      if (found.get(partition) == null) {
        found.set(partition, key);
        missing--;
      }
    }
    return found;
  }

  private static StructType struct(String json) {
    return (StructType) DataType.fromJson(json);
  }
}
