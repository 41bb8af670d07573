package io.millpond;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.apache.spark.sql.streaming.StateOperatorProgress;
import org.apache.spark.sql.streaming.StreamingQueryListener;

/**
 * How far each query is: Spark itself tells only when a batch ends, which in real time is a minute later. A cell for each source
 * partition is written by the one task that reads it, and read by whoever asks; nobody waits.
 */
public final class Progress {
  private static final Map<String, Query> QUERIES = new ConcurrentHashMap<>();

  private Progress() {}

  private record Place(int scan, int partition) {}

  /** What one partition's task writes. */
  static final class Cell {
    final int partition;
    private final AtomicLong rows;
    private final AtomicLong next = new AtomicLong();

    Cell(int partition, AtomicLong rows) {
      this.partition = partition;
      this.rows = rows;
    }

    /** One more record; there is one writer, so no compare-and-set and no fence. */
    void read(long offset) {
      rows.lazySet(rows.getPlain() + 1);
      next.lazySet(offset + 1);
    }
  }

  private static final class Query {
    /** Rows outlive a start of the query, positions do not: after a failure it reads some records again. */
    final Map<Place, AtomicLong> rows = new ConcurrentHashMap<>();
    final AtomicLong late = new AtomicLong();
    volatile State state = new State(0, 0);
    volatile Map<Place, Cell> cells = new ConcurrentHashMap<>();
  }

  /** What a query keeps in its state stores. */
  private record State(long rows, long bytes) {}

  /** Notes late rows and the size of the state, of every query whose name begins with its id and a slash. */
  public static final class BatchEnds extends StreamingQueryListener {
    @Override
    public void onQueryStarted(QueryStartedEvent event) {}

    @Override
    public void onQueryProgress(QueryProgressEvent event) {
      String name = event.progress().name();
      Query query = name == null ? null : QUERIES.get(name.substring(0, Math.max(0, name.indexOf('/'))));
      if (query == null) {
        return;
      }
      long late = 0;
      long rows = 0;
      long bytes = 0;
      for (StateOperatorProgress operator : event.progress().stateOperators()) {
        late += operator.numRowsDroppedByWatermark();
        rows += operator.numRowsTotal();
        bytes += operator.memoryUsedBytes();
      }
      query.late.addAndGet(late);
      query.state = new State(rows, bytes);
    }

    @Override
    public void onQueryTerminated(QueryTerminatedEvent event) {}
  }

  /** Begin anew with a query's positions: it is about to be started. */
  public static void starts(String queryId) {
    query(queryId).cells = new ConcurrentHashMap<>();
  }

  /** Records that a query has read since the JVM started, those of a replay among them. */
  public static long rows(String queryId) {
    return query(queryId).rows.values().stream().mapToLong(AtomicLong::get).sum();
  }

  /** Rows of a query that came too late, since the JVM started, as of the last batch that ended. */
  public static long late(String queryId) {
    return query(queryId).late.get();
  }

  /** Rows in a query's state stores, as of the last batch that ended. */
  public static long stateRows(String queryId) {
    return query(queryId).state.rows();
  }

  /** Bytes of memory that a query's state stores hold, as of the last batch that ended. */
  public static long stateBytes(String queryId) {
    return query(queryId).state.bytes();
  }

  /** Counts rows that an operator of ours found to be too late. */
  static void addLate(String queryId, long rows) {
    if (rows > 0) {
      query(queryId).late.addAndGet(rows);
    }
  }

  /** Lines of the scan's number, partition and next offset. */
  public static String positions(String queryId) {
    return query(queryId).cells.entrySet().stream()
        .filter(e -> e.getValue().next.get() > 0)
        .map(e -> e.getKey().scan + " " + e.getKey().partition + " " + e.getValue().next.get())
        .collect(Collectors.joining("\n"));
  }

  /** Forgets a query that is gone. */
  public static void forget(String queryId) {
    QUERIES.remove(queryId);
    JoinProgress.forget(queryId);
  }

  /** A query is about to read again from its last commit: what its joins have seen since then, they will see again. */
  public static void catchesUp(String queryId) {
    JoinProgress.forget(queryId);
  }

  /** @param scan number of the scan in its plan: two scans may read one topic */
  static Cell cell(String queryId, int scan, int partition) {
    Query query = query(queryId);
    Place place = new Place(scan, partition);
    AtomicLong rows = query.rows.computeIfAbsent(place, p -> new AtomicLong());
    return query.cells.computeIfAbsent(place, p -> new Cell(partition, rows));
  }

  private static Query query(String queryId) {
    return QUERIES.computeIfAbsent(queryId, id -> new Query());
  }
}
