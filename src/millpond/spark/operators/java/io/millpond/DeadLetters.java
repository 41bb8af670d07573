package io.millpond;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.spark.TaskContext;
import org.roaringbitmap.longlong.Roaring64Bitmap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends dead letters, one producer per broker list and JVM, and counts undecodable records by query.
 *
 * <p>Order of effects: (1) the record is counted, (2) its letter is handed to the producer, (3) the letters of a task are
 * acknowledged before the task ends, so before its batch is committed. A crash before (3) repeats letters with the same coordinates
 * and loses none.
 */
public final class DeadLetters {
  private static final Logger LOG = LoggerFactory.getLogger(DeadLetters.class);
  /** How long one record may wait for a topic or broker that is not there; then letters are dropped for a while. */
  private static final int MAX_BLOCK_MS = 5_000;
  private static final long PAUSE_NANOS = 10_000_000_000L;
  /** A letter that is not acknowledged by then is lost; the end of a task waits as long. */
  private static final int DELIVERY_TIMEOUT_MS = 30_000;

  private static final Map<Map<String, String>, KafkaProducer<byte[], byte[]>> PRODUCERS = new ConcurrentHashMap<>();
  private static final Map<String, Tally> TALLIES = new ConcurrentHashMap<>();
  private static final ThreadLocal<TaskContext> FLUSHED_AT_END_OF = new ThreadLocal<>();
  private static volatile long pausedUntil = System.nanoTime();

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

  /** Sends what is waiting and closes all producers; the next letter opens one again. */
  public static void close() {
    PRODUCERS.keySet().forEach(settings -> PRODUCERS.remove(settings).close());
  }

  static void count(String queryId, String topic, int partition, long offset) {
    tally(queryId).add(topic, partition, offset);
  }

  private static Tally tally(String queryId) {
    return TALLIES.computeIfAbsent(queryId, id -> new Tally());
  }

  static void send(Map<String, String> settings, String deadLetterTopic, DeadLetter letter) {
    if (System.nanoTime() - pausedUntil < 0) {
      tally(letter.queryId()).lostLetters.incrementAndGet();
      return;
    }
    try {
      KafkaProducer<byte[], byte[]> producer = PRODUCERS.computeIfAbsent(settings, DeadLetters::open);
      producer.send(letter.toRecord(deadLetterTopic), (done, e) -> {
        if (e instanceof RecordTooLargeException) {
          producer.send(letter.toShortRecord(deadLetterTopic), (again, problem) -> acknowledged(letter, problem));
        } else {
          acknowledged(letter, e);
        }
      });
      flushAtEndOfTask(producer);
    } catch (RuntimeException e) {
      pausedUntil = System.nanoTime() + PAUSE_NANOS;
      acknowledged(letter, e);
    }
  }

  private static void acknowledged(DeadLetter letter, Exception problem) {
    if (problem != null) {
      tally(letter.queryId()).lostLetters.incrementAndGet();
      LOG.warn("dead letter of query {} lost: {}", letter.queryId(), problem.toString());
    }
  }

  private static void flushAtEndOfTask(KafkaProducer<byte[], byte[]> producer) {
    TaskContext task = TaskContext.get();
    if (task != null && FLUSHED_AT_END_OF.get() != task) {
      FLUSHED_AT_END_OF.set(task);
      task.addTaskCompletionListener(ended -> {
        FLUSHED_AT_END_OF.remove();
        producer.flush();
      });
    }
  }

  private static KafkaProducer<byte[], byte[]> open(Map<String, String> settings) {
    Map<String, Object> all = new HashMap<>();
    all.put("client.id", "millpond-dead-letters");
    all.put("acks", "all");
    all.put("compression.type", "lz4");
    all.put("linger.ms", 5);
    all.put("max.block.ms", MAX_BLOCK_MS);
    all.put("delivery.timeout.ms", DELIVERY_TIMEOUT_MS);
    all.put("request.timeout.ms", DELIVERY_TIMEOUT_MS / 2);
    all.put("max.request.size", 2 * Decoder.MAX_BYTES);
    all.putAll(settings);
    return new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer());
  }
}
