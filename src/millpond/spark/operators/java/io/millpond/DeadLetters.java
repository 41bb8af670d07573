package io.millpond;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.common.KafkaException;
import org.roaringbitmap.longlong.Roaring64Bitmap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Counts undecodable records by query, and has their letters sent: one sender per broker list and JVM.
 *
 * <p>Order of effects: (1) the record is counted, (2) its letter is handed to the producer, (3) the letters of a task are
 * acknowledged before the task ends, so before its batch is committed. A crash before (3) repeats letters with the same coordinates
 * and loses none.
 */
public final class DeadLetters {
  private static final Logger LOG = LoggerFactory.getLogger(DeadLetters.class);
  private static final Map<Map<String, String>, DeadLetterSender> SENDERS = new ConcurrentHashMap<>();
  private static final Map<String, Tally> TALLIES = new ConcurrentHashMap<>();

  private DeadLetters() {}

  /** Undecodable records of one query by their places: those that are read again after a failure are counted once. */
  private static final class Tally {
    final AtomicLong records = new AtomicLong();
    final AtomicLong lostLetters = new AtomicLong();
    private final Map<String, Roaring64Bitmap> offsets = new HashMap<>();

    synchronized void add(String topic, int partition, long offset) {
      Roaring64Bitmap met = offsets.computeIfAbsent(topic + ":" + partition, place -> new Roaring64Bitmap());
      if (!met.contains(offset)) {
        met.addLong(offset);
        records.incrementAndGet();
      }
    }
  }

  /** Undecodable records that a query has met since the JVM started. */
  public static long count(String queryId) {
    Tally tally = TALLIES.get(queryId);
    return tally == null ? 0 : tally.records.get();
  }

  /** Letters of a query that did not reach the dead-letter topic. */
  public static long lost(String queryId) {
    Tally tally = TALLIES.get(queryId);
    return tally == null ? 0 : tally.lostLetters.get();
  }

  /** Forgets the counts of a query that is gone. */
  public static void forget(String queryId) {
    TALLIES.remove(queryId);
  }

  static void count(String queryId, String topic, int partition, long offset) {
    tally(queryId).add(topic, partition, offset);
  }

  static void send(Map<String, String> settings, String deadLetterTopic, DeadLetter letter) {
    try {
      SENDERS.computeIfAbsent(settings, DeadLetterSender::new).send(deadLetterTopic, letter, DeadLetters::acknowledged);
    } catch (KafkaException e) {
      acknowledged(letter, e);
    }
  }

  /** Of many that are lost in a row, the first few and then ever fewer are logged. */
  private static void acknowledged(DeadLetter letter, Exception problem) {
    if (problem != null) {
      long lost = tally(letter.queryId()).lostLetters.incrementAndGet();
      if (Long.bitCount(lost) == 1) {
        LOG.warn("{} dead letters of query {} lost: {}", lost, letter.queryId(), problem.toString());
      }
    }
  }

  private static Tally tally(String queryId) {
    return TALLIES.computeIfAbsent(queryId, id -> new Tally());
  }
}
