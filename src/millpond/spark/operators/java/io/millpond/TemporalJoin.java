package io.millpond;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.ListState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;

/**
 * Events (left) meet versions of a changelog's rows (right): each the last one whose time is not after its own. An event waits until
 * its version is certain, that is, until the changelog is past the event's time or quiet.
 *
 * <p>Kept for each key: the versions that an event may still meet, and the events that wait. A mark on the first version says that
 * older ones were dropped.
 */
public final class TemporalJoin extends JoinProcessor {
  /** How long until waiting events are looked at again. */
  private static final long WAIT_MILLIS = 5;

  /** How far events may lag behind the latest ones and still meet the version of their own time; microseconds. */
  private final long lateness;
  private final boolean dropsLate;
  private transient ListState<Row> versions;
  private transient ListState<Row> waiting;
  /** Of the key's answered events the latest time: an older version comes too late for them. */
  private transient ValueState<Long> answered;
  private transient long answeredNow;

  private TemporalJoin(JoinSettings settings, long lateness, boolean dropsLate) {
    super(settings);
    this.lateness = lateness;
    this.dropsLate = dropsLate;
  }

  /** @param dropsLate an event older than all versions that are kept is dropped; else it meets the oldest of them */
  public static Dataset<Row> apply(Dataset<Row> input, JoinSettings settings, long latenessMillis, boolean dropsLate) {
    return apply(input, new TemporalJoin(settings, 1000 * latenessMillis, dropsLate));
  }

  @Override
  public void init(OutputMode outputMode, TimeMode timeMode) {
    super.init(outputMode, timeMode);
    versions = rows("versions");
    waiting = rows("waiting");
    answered = getHandle().getValueState("answered", Encoders.LONG(), TTLConfig.NONE());
  }

  @Override
  protected void join(List<JoinRow> events, List<JoinRow> arrived, long now, TimerValues timers) {
    if (settings.realTime()) {
      events.forEach(e -> left.note(e.partition, e.time, now));
      arrived.forEach(v -> right.note(v.partition, v.time, now));
    }
    List<JoinRow> known = load(versions);
    boolean changed = !arrived.isEmpty() && insert(known, arrived);
    if (!arrived.isEmpty() && waiting.exists()) {
      events.addAll(load(waiting));
      waiting.clear();
    }
    answer(events, known, now);
    if (changed | forget(known)) {
      saveVersions(known);
    }
  }

  @Override
  protected void lookAgain(long now, TimerValues timers) {
    List<JoinRow> events = load(waiting);
    waiting.clear();
    answer(events, load(versions), now);
  }

  // --- events ---

  private void answer(List<JoinRow> events, List<JoinRow> known, long now) {
    long reached = right.reached(now);
    List<JoinRow> early = new ArrayList<>();
    answeredNow = EventClock.NOWHERE;
    events.sort(JoinRow.BY_PLACE);
    for (JoinRow event : events) {
      if (event.time < reached) {
        answer(event, known);
      } else {
        early.add(event);
      }
    }
    if (!known.isEmpty() && answeredNow > lastAnswered()) {
      answered.update(answeredNow);
    }
    await(early, now);
  }

  private void answer(JoinRow event, List<JoinRow> known) {
    answeredNow = Math.max(answeredNow, event.time);
    int valid = lastNotAfter(known, event.time);
    JoinRow version = valid < 0 ? null : known.get(valid);
    if (version == null && !known.isEmpty() && known.get(0).mark) {
      countLate(1);
      if (dropsLate) {
        return;
      }
      version = known.get(0);
    }
    if (version != null && version.payload != null) {
      emit(event, version);
    } else if (settings.padsLeft()) {
      emit(event, null);
    }
  }

  private void await(List<JoinRow> early, long now) {
    if (early.isEmpty()) {
      return;
    }
    lookAgainIn(WAIT_MILLIS, now);
    waiting.appendList(early.stream().map(JoinRow::kept).toArray(Row[]::new));
  }

  @Override
  protected void emit(JoinRow event, JoinRow version) {
    emit(event.time, event.partition, event.position, event, version);
  }

  private long lastAnswered() {
    return answered.exists() ? answered.get() : EventClock.NOWHERE;
  }

  // --- versions ---

  private static int lastNotAfter(List<JoinRow> known, long time) {
    int low = 0;
    int high = known.size();
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (known.get(middle).time <= time) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low - 1;
  }

  /** One that is older than the oldest that is kept, after older ones were dropped, is no news. */
  private boolean insert(List<JoinRow> known, List<JoinRow> arrived) {
    long last = known.isEmpty() ? EventClock.NOWHERE : lastAnswered();
    countLate(arrived.stream().filter(v -> v.time <= last).count());
    known.addAll(arrived);
    known.sort(JoinRow.BY_TIME);
    boolean truncated = known.stream().anyMatch(v -> v.mark);
    if (truncated) {
      while (!known.get(0).mark) {
        known.remove(0);
      }
    }
    return true;
  }

  /** Drops the versions that no event in time can meet any more. */
  private boolean forget(List<JoinRow> known) {
    long reached = left.lowest();
    if (known.isEmpty() || reached == EventClock.NOWHERE) {
      return false;
    }
    int valid = lastNotAfter(known, reached - lateness);
    if (valid > 0) {
      known.subList(0, valid).clear();
      known.get(0).mark = true;
    }
    boolean gone = valid >= 0 && known.size() == 1 && known.get(0).payload == null;
    if (gone) {
      known.clear();
    }
    return valid > 0 || gone;
  }

  private void saveVersions(List<JoinRow> known) {
    save(versions, known);
    if (known.isEmpty()) {
      answered.clear();
    }
  }
}
