package io.millpond;

import java.io.Serializable;

/** Sees every row that goes into a join, before the shuffle, and notes how far its partition is. */
public final class JoinWitness implements Serializable {
  private final String queryId;
  private final int join;
  private final int side;
  private transient JoinProgress progress;
  private transient String batch;

  JoinWitness(String queryId, int join, int side) {
    this.queryId = queryId;
    this.join = join;
    this.side = side;
  }

  /**
   * The time again, so that it is a column.
   *
   * @param time of the event, microseconds
   * @param record the record's own timestamp, milliseconds
   */
  public long see(long time, int partition, long record) {
    if (progress == null) {
      progress = JoinProgress.of(queryId, join);
      batch = JoinProgress.batch();
    }
    progress.note(side, partition, time, record, batch);
    return time;
  }

  /** What EXPLAIN shows. */
  @Override
  public String toString() {
    return "side " + side + " of join " + join;
  }
}
