package io.millpond;

import java.util.Comparator;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** A row on one side of a join: its event time in microseconds, its place in its source, and its columns as `Packed` bytes. */
final class JoinRow {
  /** What `side` says of a row that goes into a join. */
  static final int LEFT = 0;
  static final int RIGHT = 1;
  /** No row: how far a partition of the side is; `HEARTBEAT + LEFT` or `HEARTBEAT + RIGHT`. */
  static final int HEARTBEAT = 2;
  /** A row whose key is NULL, which matches nothing; `KEYLESS + LEFT` or `KEYLESS + RIGHT`. */
  static final int KEYLESS = 4;

  static final String KEY = "key";

  /** The columns that go into a join. */
  static final StructType INPUT = new StructType()
      .add(KEY, DataTypes.BinaryType)
      .add("side", DataTypes.IntegerType)
      .add("time", DataTypes.LongType)
      .add("partition", DataTypes.IntegerType)
      .add("position", DataTypes.LongType)
      .add("ingested", DataTypes.LongType)
      .add("payload", DataTypes.BinaryType);

  /** The columns of a row that is kept. `mark` is for the operator. */
  static final StructType KEPT = new StructType()
      .add("time", DataTypes.LongType)
      .add("partition", DataTypes.IntegerType)
      .add("position", DataTypes.LongType)
      .add("ingested", DataTypes.LongType)
      .add("payload", DataTypes.BinaryType)
      .add("mark", DataTypes.BooleanType);

  /** The columns that come out: those of the sides are null where there was no match. */
  static final StructType OUTPUT = new StructType()
      .add("time", DataTypes.LongType)
      .add("partition", DataTypes.IntegerType)
      .add("position", DataTypes.LongType)
      .add("ingested", DataTypes.LongType)
      .add("left", DataTypes.BinaryType)
      .add("right", DataTypes.BinaryType);

  static final Comparator<JoinRow> BY_TIME = Comparator.<JoinRow>comparingLong(r -> r.time)
      .thenComparingInt(r -> r.partition)
      .thenComparingLong(r -> r.position);
  static final Comparator<JoinRow> BY_PLACE =
      Comparator.<JoinRow>comparingInt(r -> r.partition).thenComparingLong(r -> r.position);

  final long time;
  final int partition;
  final long position;
  final long ingested;
  /** Null: a delete. */
  final byte[] payload;
  boolean mark;

  private JoinRow(Row row, int first, boolean mark) {
    time = row.getLong(first);
    partition = row.getInt(first + 1);
    position = row.getLong(first + 2);
    ingested = row.getLong(first + 3);
    payload = (byte[]) row.get(first + 4);
    this.mark = mark;
  }

  static JoinRow ofInput(Row row) {
    return new JoinRow(row, 2, false);
  }

  static JoinRow ofKept(Row row) {
    return new JoinRow(row, 0, row.getBoolean(5));
  }

  Row kept() {
    return RowFactory.create(time, partition, position, ingested, payload, mark);
  }
}
