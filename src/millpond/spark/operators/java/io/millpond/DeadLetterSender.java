package io.millpond;

import java.util.HashMap;
import java.util.Map;
import java.util.function.BiConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.spark.TaskContext;

/**
 * The producer of dead letters to one broker list. A query waits for it at most `MAX_BLOCK_MS`; while the broker or the topic stays
 * away, letters are given up at once for pauses that double.
 */
final class DeadLetterSender {
  /** How long one letter may wait for its topic's metadata: a busy machine's first contact takes seconds. */
  private static final int MAX_BLOCK_MS = 15_000;
  /** A letter that is not acknowledged by then is lost; the end of a task waits as long. */
  private static final int DELIVERY_TIMEOUT_MS = 30_000;
  private static final long FIRST_PAUSE_NANOS = 10_000_000_000L;
  private static final long LONGEST_PAUSE_NANOS = 60 * FIRST_PAUSE_NANOS;
  private static final ThreadLocal<TaskContext> FLUSHED_AT_END_OF = new ThreadLocal<>();

  private final KafkaProducer<byte[], byte[]> producer;
  private long pausedUntil;
  private long pause;

  DeadLetterSender(Map<String, String> settings) {
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
    producer = new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer());
  }

  /** Hands the letter to the producer; `acknowledged` hears of it once, with null for the problem if it is in the topic. */
  void send(String topic, DeadLetter letter, BiConsumer<DeadLetter, Exception> acknowledged) {
    if (isPaused()) {
      acknowledged.accept(letter, new TimeoutException("'" + topic + "' was not reached a moment ago"));
      return;
    }
    flushAtEndOfTask();
    producer.send(letter.toRecord(topic), (done, problem) -> {
      if (problem instanceof RecordTooLargeException) {
        producer.send(letter.toShortRecord(topic), (again, e) -> acknowledged.accept(letter, noted(e)));
      } else {
        acknowledged.accept(letter, noted(problem));
      }
    });
  }

  private synchronized boolean isPaused() {
    return pause > 0 && System.nanoTime() - pausedUntil < 0;
  }

  private synchronized Exception noted(Exception problem) {
    if (problem == null) {
      pause = 0;
    } else if (problem instanceof TimeoutException && !isPaused()) {
      pause = Math.min(Math.max(2 * pause, FIRST_PAUSE_NANOS), LONGEST_PAUSE_NANOS);
      pausedUntil = System.nanoTime() + pause;
    }
    return problem;
  }

  /** Before its task ends, so before its batch is committed, every letter is acknowledged or lost. */
  private void flushAtEndOfTask() {
    TaskContext task = TaskContext.get();
    if (task != null && FLUSHED_AT_END_OF.get() != task) {
      FLUSHED_AT_END_OF.set(task);
      task.addTaskCompletionListener(ended -> {
        FLUSHED_AT_END_OF.remove();
        flush();
      });
    }
  }

  /** Twice: the short form of a letter that was too large is only sent when the long one was refused. */
  private void flush() {
    producer.flush();
    producer.flush();
  }
}
