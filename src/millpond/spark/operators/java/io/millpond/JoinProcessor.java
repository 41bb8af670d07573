package io.millpond;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.ListState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import scala.jdk.javaapi.CollectionConverters;

/** What both kinds of join share: rows in by side, rows out, the sides' clocks, state as lists of rows. */
abstract class JoinProcessor extends StatefulProcessor<byte[], Row, Row> {
  protected final JoinSettings settings;
  protected transient EventClock left;
  protected transient EventClock right;
  private transient List<Row> output;

  JoinProcessor(JoinSettings settings) {
    this.settings = settings;
  }

  /** @param input rows of both sides, with the columns `JoinRow.INPUT`; the result has those of `JoinRow.OUTPUT` */
  static Dataset<Row> apply(Dataset<Row> input, JoinProcessor processor) {
    return input
        .groupBy(input.col(JoinRow.KEY))
        .as(Encoders.BINARY(), Encoders.row(JoinRow.INPUT))
        .transformWithState(processor, TimeMode.ProcessingTime(), OutputMode.Update(), Encoders.row(JoinRow.OUTPUT));
  }

  @Override
  public void init(OutputMode outputMode, TimeMode timeMode) {
    left = settings.clock(JoinRow.LEFT, false);
    right = settings.clock(JoinRow.RIGHT, false);
  }

  /** Rows of one key that came together: all of a batch, or one. */
  protected abstract void join(List<JoinRow> lefts, List<JoinRow> rights, long now, TimerValues timers);

  /** A timer of the key is due. */
  protected abstract void lookAgain(long now, TimerValues timers);

  @Override
  public scala.collection.Iterator<Row> handleInputRows(
      byte[] key, scala.collection.Iterator<Row> rows, TimerValues timers) {
    long now = now(timers);
    output = new ArrayList<>();
    List<JoinRow> lefts = new ArrayList<>();
    List<JoinRow> rights = new ArrayList<>();
    while (rows.hasNext()) {
      take(rows.next(), lefts, rights, now);
    }
    if (!lefts.isEmpty() || !rights.isEmpty()) {
      join(lefts, rights, now, timers);
    }
    return taken();
  }

  @Override
  public scala.collection.Iterator<Row> handleExpiredTimer(byte[] key, TimerValues timers, ExpiredTimerInfo expired) {
    output = new ArrayList<>();
    lookAgain(now(timers), timers);
    return taken();
  }

  private scala.collection.Iterator<Row> taken() {
    Iterator<Row> rows = output.iterator();
    output = null;
    return CollectionConverters.asScala(rows);
  }

  private void take(Row input, List<JoinRow> lefts, List<JoinRow> rights, long now) {
    int kind = input.getInt(1);
    JoinRow row = JoinRow.ofInput(input);
    boolean isLeft = (kind & 1) == JoinRow.LEFT;
    if (kind >= JoinRow.KEYLESS) {
      keyless(row, isLeft);
      return;
    }
    if (settings.realTime() && kind >= JoinRow.HEARTBEAT) {
      (isLeft ? left : right).note(row.partition, row.time, now);
    } else {
      (isLeft ? lefts : rights).add(row);
    }
  }

  private void keyless(JoinRow row, boolean isLeft) {
    if (isLeft && settings.padsLeft()) {
      emit(row, null);
    } else if (!isLeft && settings.padsRight()) {
      emit(null, row);
    }
  }

  /** A row of the result; one of the two may be null. */
  protected abstract void emit(JoinRow leftRow, JoinRow rightRow);

  protected void emit(long time, int partition, long position, JoinRow leftRow, JoinRow rightRow) {
    long ingested = Math.max(
        leftRow == null ? 0 : leftRow.ingested, rightRow == null ? 0 : rightRow.ingested);
    output.add(RowFactory.create(
        time,
        partition,
        position,
        ingested,
        leftRow == null ? null : leftRow.payload,
        rightRow == null ? null : rightRow.payload));
  }

  /** Counts rows that came too late. */
  protected void countLate(long rows) {
    Progress.addLate(settings.queryId(), rows);
  }

  /** In real time as it is; else one moment for the whole batch, so that it does the same when it runs again. */
  private long now(TimerValues timers) {
    return settings.realTime() ? System.currentTimeMillis() : timers.getCurrentProcessingTimeInMs();
  }

  /** Has the key looked at again in a while, unless that will happen anyhow. */
  protected void lookAgainIn(long millis, long now) {
    scala.collection.Iterator<Object> timers = getHandle().listTimers();
    while (timers.hasNext()) {
      if ((Long) timers.next() > now) {
        return;
      }
    }
    getHandle().registerTimer(now + millis);
  }

  // --- state ---

  protected ListState<Row> rows(String name) {
    return getHandle().getListState(name, Encoders.row(JoinRow.KEPT), TTLConfig.NONE());
  }

  protected static List<JoinRow> load(ListState<Row> state) {
    List<JoinRow> rows = new ArrayList<>();
    scala.collection.Iterator<Row> kept = state.get();
    while (kept.hasNext()) {
      rows.add(JoinRow.ofKept(kept.next()));
    }
    return rows;
  }

  protected static void save(ListState<Row> state, List<JoinRow> rows) {
    if (rows.isEmpty()) {
      state.clear();
    } else {
      state.put(rows.stream().map(JoinRow::kept).toArray(Row[]::new));
    }
  }
}
