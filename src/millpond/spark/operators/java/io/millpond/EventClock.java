package io.millpond;

import java.util.HashMap;
import java.util.Map;

/**
 * How far one side of a join is in event time: each of its partitions is at the latest time that it brought, and the side is where its
 * slowest partition is. Times of events are microseconds, those of the wall clock milliseconds.
 */
final class EventClock {
  static final long NOWHERE = Long.MIN_VALUE;
  static final long EVERYWHERE = Long.MAX_VALUE;

  private static final class Partition {
    long time = NOWHERE;
    long heard;
  }

  private final Map<Integer, Partition> partitions = new HashMap<>();
  private final long idleMillis;
  /** Until then a side of which nothing was heard is waited for. */
  private final long silentUntil;

  EventClock(long idleMillis, long silentUntil) {
    this.idleMillis = idleMillis;
    this.silentUntil = silentUntil;
  }

  /** The partition brought an event of `time`, at the moment `heard`. */
  void note(int partition, long time, long heard) {
    Partition known = partitions.computeIfAbsent(partition, p -> new Partition());
    known.time = Math.max(known.time, time);
    known.heard = Math.max(known.heard, heard);
  }

  boolean isSilent() {
    return partitions.isEmpty();
  }

  /** The side's time; quiet partitions do not hold it back, and if all are quiet nothing does. */
  long reached(long now) {
    if (partitions.isEmpty() && now < silentUntil) {
      return NOWHERE;
    }
    long reached = EVERYWHERE;
    for (Partition partition : partitions.values()) {
      if (!isQuiet(partition, now)) {
        reached = Math.min(reached, partition.time);
      }
    }
    return reached;
  }

  /** The side's time, where that of a quiet partition goes on with the wall clock. */
  long flowing(long now) {
    long reached = EVERYWHERE;
    for (Partition partition : partitions.values()) {
      long passed = isQuiet(partition, now) ? 1000 * (now - partition.heard) : 0;
      reached = Math.min(reached, partition.time + passed);
    }
    return partitions.isEmpty() ? NOWHERE : reached;
  }

  /** The side's time, with quiet partitions where they stopped. */
  long lowest() {
    return partitions.values().stream().mapToLong(p -> p.time).min().orElse(NOWHERE);
  }

  private boolean isQuiet(Partition partition, long now) {
    return now - partition.heard > idleMillis;
  }
}
