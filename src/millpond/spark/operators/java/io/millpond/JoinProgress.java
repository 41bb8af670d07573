package io.millpond;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.TaskContext;

/**
 * What the tasks before a join's shuffle have seen, by query and join. In a micro-batch the shuffle is a barrier, so that the tasks
 * after it find the state of the whole batch here. In real time it is what the batch before left behind.
 */
final class JoinProgress {
  private static final Map<String, JoinProgress> JOINS = new ConcurrentHashMap<>();

  private record Place(int side, int partition) {}

  /** One partition of one side. Several tasks may write it. */
  private static final class Cell {
    long time = EventClock.NOWHERE;
    /** As it was when the batch began. */
    long before = EventClock.NOWHERE;
    /** Of the newest record, milliseconds. */
    long record;
    String batch = "";

    synchronized void note(long time, long record, String batch) {
      if (!batch.equals(this.batch)) {
        this.batch = batch;
        before = this.time;
      }
      this.time = Math.max(this.time, time);
      this.record = Math.max(this.record, record);
    }

    synchronized void tell(EventClock clock, int partition, boolean asBefore, String batch, long notBefore) {
      long told = asBefore && batch.equals(this.batch) ? before : time;
      if (told != EventClock.NOWHERE) {
        clock.note(partition, told, Math.max(record, notBefore));
      }
    }
  }

  private final Map<Place, Cell> cells = new ConcurrentHashMap<>();

  static JoinProgress of(String queryId, int join) {
    return JOINS.computeIfAbsent(queryId + "/" + join, name -> new JoinProgress());
  }

  /** Forgets a query that is about to start anew, or gone. */
  static void forget(String queryId) {
    JOINS.keySet().removeIf(name -> name.startsWith(queryId + "/"));
  }

  void note(int side, int partition, long time, long record, String batch) {
    cells.computeIfAbsent(new Place(side, partition), place -> new Cell()).note(time, record, batch);
  }

  /**
   * Sets `clock` to what is known of a side.
   *
   * @param asBefore as it was before the batch that runs now
   * @param notBefore partitions count as heard of at this moment at the earliest
   */
  void tell(int side, EventClock clock, boolean asBefore, long notBefore) {
    String batch = batch();
    cells.forEach((place, cell) -> {
      if (place.side == side) {
        cell.tell(clock, place.partition, asBefore, batch, notBefore);
      }
    });
  }

  /** The number of the batch that this task belongs to. */
  static String batch() {
    TaskContext task = TaskContext.get();
    String batch = task == null ? null : task.getLocalProperty("streaming.sql.batchId");
    return batch == null ? "" : batch;
  }
}
