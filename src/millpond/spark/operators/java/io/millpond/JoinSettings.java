package io.millpond;

import java.io.Serializable;

/**
 * What both kinds of join are told.
 *
 * @param queryId whose join it is
 * @param join its number in the plan
 * @param realTime rows come one by one, and how far the sides are comes with them; else all rows of a batch are there
 * @param throttled a batch does not read all there is: then a quiet partition may have more
 * @param idleMillis after how long without a record a partition is quiet
 * @param padsLeft rows of the left side without a match come out
 * @param padsRight those of the right side do
 */
public record JoinSettings(
    String queryId, int join, boolean realTime, boolean throttled, long idleMillis, boolean padsLeft, boolean padsRight)
    implements Serializable {
  /** How long a task that has just begun waits for partitions that have not spoken. */
  private static final long START_MILLIS = 200;
  private static final long NEVER = Long.MAX_VALUE / 4;

  /** The clock of a side as a task finds it when it begins. */
  EventClock clock(int side, boolean asBefore) {
    long now = System.currentTimeMillis();
    long idle = throttled && !realTime ? NEVER : idleMillis;
    EventClock clock = new EventClock(idle, realTime ? now + START_MILLIS : 0);
    long notBefore = realTime ? now + START_MILLIS - idleMillis : 0;
    JoinProgress.of(queryId, join).tell(side, clock, asBefore, notBefore);
    return clock;
  }
}
