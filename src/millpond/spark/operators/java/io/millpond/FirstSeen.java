package io.millpond;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Marks the first row of each key and value, so that COUNT(DISTINCT value) is a native count of marks. Keyed by (key columns, value);
 * one state entry for each. All rows pass, in their order.
 */
public final class FirstSeen extends StatefulProcessor<Row, Row, Row> {
  private final int valueIndex;
  /** Position of the column with the time from which on the key gets no more rows; -1 for none. */
  private final int expiryIndex;
  private transient ValueState<Boolean> seen;

  private FirstSeen(int valueIndex, int expiryIndex) {
    this.valueIndex = valueIndex;
    this.expiryIndex = expiryIndex;
  }

  /**
   * The rows of `input` and a BOOLEAN column `name`: true for the first row ever of its key and value, false for the others and for
   * null values.
   *
   * @param expiry an event-time column, an instant or a window, of which the end counts: once the watermark has passed it, the key's
   *     state goes. It carries the watermark on to the operators above. May be null.
   */
  public static Dataset<Row> apply(
      Dataset<Row> input, List<String> keys, String value, String name, String expiry) {
    StructType schema = input.schema();
    StructType result = schema.add(name, DataTypes.BooleanType, false);
    List<String> grouping = new ArrayList<>(keys);
    grouping.add(value);
    StructType keySchema = new StructType();
    for (String column : grouping) {
      keySchema = keySchema.add(schema.apply(column));
    }
    FirstSeen processor =
        new FirstSeen(schema.fieldIndex(value), expiry == null ? -1 : schema.fieldIndex(expiry));
    Column[] columns = grouping.stream().map(input::col).toArray(Column[]::new);
    var grouped = input.groupBy(columns).as(Encoders.row(keySchema), Encoders.row(schema));
    return expiry == null
        ? grouped.transformWithState(processor, TimeMode.None(), OutputMode.Update(), Encoders.row(result))
        : grouped.transformWithState(processor, expiry, OutputMode.Update(), Encoders.row(result));
  }

  @Override
  public void init(OutputMode outputMode, TimeMode timeMode) {
    seen = getHandle().getValueState("seen", Encoders.BOOLEAN(), TTLConfig.NONE());
  }

  @Override
  public scala.collection.Iterator<Row> handleInputRows(
      Row key, scala.collection.Iterator<Row> rows, TimerValues timers) {
    Iterator<Row> input = CollectionConverters.asJava(rows);
    return CollectionConverters.asScala(
        new Iterator<Row>() {
          @Override
          public boolean hasNext() {
            return input.hasNext();
          }

          @Override
          public Row next() {
            Row row = input.next();
            return marked(row, !row.isNullAt(valueIndex) && markSeen(row, timers));
          }
        });
  }

  /** Returns whether it was not seen before. A key whose time is over is not remembered: its rows are late. */
  private boolean markSeen(Row row, TimerValues timers) {
    if (seen.exists()) {
      return false;
    }
    if (expiryIndex >= 0) {
      long expiry = expiryMillis(row);
      if (expiry <= timers.getCurrentWatermarkInMs()) {
        return false;
      }
      getHandle().registerTimer(expiry);
    }
    seen.update(true);
    return true;
  }

  private long expiryMillis(Row row) {
    Object expiry = row.get(expiryIndex);
    Object end = expiry instanceof Row window ? window.getAs("end") : expiry;
    return ((java.sql.Timestamp) end).getTime();
  }

  private static Row marked(Row row, boolean first) {
    Object[] values = new Object[row.size() + 1];
    Arrays.setAll(values, i -> i < row.size() ? row.get(i) : first);
    return RowFactory.create(values);
  }

  @Override
  public scala.collection.Iterator<Row> handleExpiredTimer(Row key, TimerValues timers, ExpiredTimerInfo expired) {
    seen.clear();
    return CollectionConverters.asScala(List.<Row>of().iterator());
  }
}
