package io.millpond;

import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;

/** What one query does with the records that do not decode. */
public final class BadRecords implements Serializable {
  /** LOG keeps them in the dead-letter topic, IGNORE only counts them, TERMINATE ends the query. */
  public enum Mode { LOG, IGNORE, TERMINATE }

  /** Ends the query; its message is the one that the user gets. */
  public static final class Stop extends RuntimeException {
    Stop(String message) {
      super(message);
    }
  }

  private final Mode mode;
  private final String queryId;
  /** Null: there is none, then LOG is like IGNORE. */
  private final String deadLetterTopic;
  private final HashMap<String, String> producerSettings;

  public BadRecords(String mode, String queryId, String deadLetterTopic, Map<String, String> producerSettings) {
    this.mode = Mode.valueOf(mode);
    this.queryId = queryId;
    this.deadLetterTopic = deadLetterTopic;
    this.producerSettings = new HashMap<>(producerSettings);
  }

  String queryId() {
    return queryId;
  }

  void report(byte[] key, byte[] value, String topic, int partition, long offset, String reason) {
    if (mode == Mode.TERMINATE) {
      throw new Stop("undecodable record at topic '" + topic + "', partition " + partition + ", offset " + offset
          + ": " + reason);
    }
    DeadLetters.count(queryId, topic, partition, offset);
    if (mode == Mode.LOG && deadLetterTopic != null) {
      DeadLetter letter = new DeadLetter(key, value, topic, partition, offset, reason, queryId);
      DeadLetters.send(producerSettings, deadLetterTopic, letter);
    }
  }
}
