package io.millpond;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.ListState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;

/**
 * Rows of two streams that are near each other in time: the right one at most `before` earlier and `after` later than the left one.
 *
 * <p>Kept for each key: the rows that may still find a partner, until the other side has passed the last moment for one by the grace
 * period. A mark says that the row has found one. Times are microseconds.
 */
public final class IntervalJoin extends JoinProcessor {
  private static final long SHORTEST_WAIT_MILLIS = 20;
  private static final long LONGEST_WAIT_MILLIS = 10_000;

  private final long before;
  private final long after;
  private final long grace;
  private transient EventClock leftBefore;
  private transient EventClock rightBefore;
  private transient ListState<Row> lefts;
  private transient ListState<Row> rights;

  private IntervalJoin(JoinSettings settings, long before, long after, long grace) {
    super(settings);
    this.before = before;
    this.after = after;
    this.grace = grace;
  }

  public static Dataset<Row> apply(
      Dataset<Row> input, JoinSettings settings, long beforeMillis, long afterMillis, long graceMillis) {
    return apply(input, new IntervalJoin(settings, 1000 * beforeMillis, 1000 * afterMillis, 1000 * graceMillis));
  }

  @Override
  public void init(OutputMode outputMode, TimeMode timeMode) {
    super.init(outputMode, timeMode);
    leftBefore = settings.realTime() ? left : settings.clock(JoinRow.LEFT, true);
    rightBefore = settings.realTime() ? right : settings.clock(JoinRow.RIGHT, true);
    lefts = rows("lefts");
    rights = rows("rights");
  }

  @Override
  protected void join(List<JoinRow> newLefts, List<JoinRow> newRights, long now, TimerValues timers) {
    countLate(late(newLefts, leftBefore.lowest()) + late(newRights, rightBefore.lowest()));
    if (settings.realTime()) {
      newLefts.forEach(r -> left.note(r.partition, r.time, now));
      newRights.forEach(r -> right.note(r.partition, r.time, now));
    }
    List<JoinRow> oldLefts = load(lefts);
    List<JoinRow> oldRights = load(rights);
    boolean wasEmpty = oldLefts.isEmpty() && oldRights.isEmpty();
    newLefts.sort(JoinRow.BY_TIME);
    newRights.sort(JoinRow.BY_TIME);
    oldRights.sort(JoinRow.BY_TIME);
    newLefts.forEach(row -> match(row, oldRights));
    newLefts.forEach(row -> match(row, newRights));
    oldLefts.forEach(row -> match(row, newRights));
    oldLefts.addAll(newLefts);
    oldRights.addAll(newRights);
    keep(oldLefts, oldRights, now, wasEmpty);
  }

  @Override
  protected void lookAgain(long now, TimerValues timers) {
    keep(load(lefts), load(rights), now, true);
  }

  private long late(List<JoinRow> rows, long reached) {
    return reached == EventClock.NOWHERE ? 0 : rows.stream().filter(r -> r.time < reached - grace).count();
  }

  /** @param others by time */
  private void match(JoinRow row, List<JoinRow> others) {
    for (int i = firstNotBefore(others, row.time - before); i < others.size(); i++) {
      JoinRow other = others.get(i);
      if (other.time > row.time + after) {
        return;
      }
      row.mark = true;
      other.mark = true;
      emit(row, other);
    }
  }

  private static int firstNotBefore(List<JoinRow> rows, long time) {
    int low = 0;
    int high = rows.size();
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (rows.get(middle).time < time) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  // --- the end of a row's wait ---

  private void keep(List<JoinRow> allLefts, List<JoinRow> allRights, long now, boolean needsTimer) {
    long leftTime = timeOf(left, right, now);
    long rightTime = timeOf(right, left, now);
    List<JoinRow> leftsKept = stillWaiting(allLefts, after + grace, rightTime, settings.padsLeft(), true);
    List<JoinRow> rightsKept = stillWaiting(allRights, before + grace, leftTime, settings.padsRight(), false);
    save(lefts, leftsKept);
    save(rights, rightsKept);
    if (needsTimer && !(leftsKept.isEmpty() && rightsKept.isEmpty())) {
      long wait = Math.min(
          shortest(leftsKept, after + grace, rightTime), shortest(rightsKept, before + grace, leftTime));
      lookAgainIn(Math.max(SHORTEST_WAIT_MILLIS, Math.min(LONGEST_WAIT_MILLIS, wait / 1000)), now);
    }
  }

  /** A side that has never been heard of is taken to be where the other one is. */
  private static long timeOf(EventClock clock, EventClock other, long now) {
    return clock.isSilent() ? other.flowing(now) : clock.flowing(now);
  }

  private List<JoinRow> stillWaiting(List<JoinRow> rows, long wait, long reached, boolean pads, boolean isLeft) {
    List<JoinRow> kept = new ArrayList<>(rows.size());
    for (JoinRow row : rows) {
      if (reached == EventClock.NOWHERE || row.time + wait >= reached) {
        kept.add(row);
      } else if (pads && !row.mark) {
        emit(isLeft ? row : null, isLeft ? null : row);
      }
    }
    return kept;
  }

  private static long shortest(List<JoinRow> rows, long wait, long reached) {
    return rows.stream().mapToLong(r -> r.time + wait - reached).min().orElse(Long.MAX_VALUE);
  }

  // --- identity ---

  /** The place of a pair is its left row's partition and a hash of both places; without a left row, that of the right one. */
  @Override
  protected void emit(JoinRow leftRow, JoinRow rightRow) {
    long time = Math.max(
        leftRow == null ? EventClock.NOWHERE : leftRow.time, rightRow == null ? EventClock.NOWHERE : rightRow.time);
    long hash = mixed(mixed(mixed(0, leftRow), 1), rightRow) & Long.MAX_VALUE;
    emit(time, leftRow == null ? rightRow.partition : leftRow.partition, hash, leftRow, rightRow);
  }

  private static long mixed(long hash, JoinRow row) {
    return row == null ? mixed(hash, -1) : mixed(mixed(hash, row.partition), row.position);
  }

  /** SplitMix64. */
  private static long mixed(long hash, long value) {
    long z = (hash ^ value) + 0x9E3779B97F4A7C15L;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }
}
