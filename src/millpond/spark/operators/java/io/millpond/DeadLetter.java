package io.millpond;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Arrays;
import org.apache.kafka.clients.producer.ProducerRecord;

/** A record that did not decode: its raw bytes, where it was, and why. The place makes a repeat after a crash recognisable. */
record DeadLetter(
    byte[] key, byte[] value, String topic, int partition, long offset, String reason, String queryId) {
  /** What is kept of a record that is too large for the dead-letter topic: far below every broker's limit. */
  private static final int KEPT_BYTES = 64 << 10;

  ProducerRecord<byte[], byte[]> toRecord(String deadLetterTopic) {
    ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(deadLetterTopic, key, value);
    header(record, "mp.topic", topic);
    header(record, "mp.partition", Integer.toString(partition));
    header(record, "mp.offset", Long.toString(offset));
    header(record, "mp.reason", reason);
    header(record, "mp.query", queryId);
    return record;
  }

  /** The same with the beginnings of key and value only, and a header with their lengths. */
  ProducerRecord<byte[], byte[]> toShortRecord(String deadLetterTopic) {
    DeadLetter cut = new DeadLetter(start(key), start(value), topic, partition, offset, reason, queryId);
    ProducerRecord<byte[], byte[]> record = cut.toRecord(deadLetterTopic);
    header(record, "mp.truncated", length(key) + "," + length(value));
    return record;
  }

  private static byte[] start(byte[] bytes) {
    return bytes == null || bytes.length <= KEPT_BYTES ? bytes : Arrays.copyOf(bytes, KEPT_BYTES);
  }

  private static int length(byte[] bytes) {
    return bytes == null ? 0 : bytes.length;
  }

  private static void header(ProducerRecord<byte[], byte[]> record, String name, String text) {
    record.headers().add(name, text.getBytes(UTF_8));
  }
}
