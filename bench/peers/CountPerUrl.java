import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.ObjectWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * Visits per url with Kafka Streams.
 *
 * <p>Arguments: broker list, input topic, output topic, state folder, then settings of Kafka Streams as key=value.
 */
public final class CountPerUrl {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** Nothing but its key is needed of a click once it is keyed by url; null would not be counted. */
  private static final byte[] ONE = {};

  record Click(long event_time, String device_id, String url, String ip, String userid) {}

  record Visits(String url, long visits) {}

  public static void main(String[] args) {
    KafkaStreams streams = new KafkaStreams(topology(args[1], args[2]), settings(args));
    streams.setUncaughtExceptionHandler(
        e -> {
          e.printStackTrace();
          System.exit(1);
          return null;
        });
    Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(5))));
    streams.start();
  }

  static Topology topology(String input, String output) {
    StreamsBuilder builder = new StreamsBuilder();
    Serde<String> text = Serdes.String();
    builder.stream(input, Consumed.with(text, json(Click.class)))
        .map((user, click) -> KeyValue.pair(click.url(), ONE))
        .groupByKey(Grouped.with(text, Serdes.ByteArray()))
        .count(Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as("visits"))
        .toStream()
        .map((url, visits) -> KeyValue.pair(url, new Visits(url, visits)))
        .to(output, Produced.with(text, json(Visits.class)));
    return builder.build();
  }

  static Properties settings(String[] args) {
    Properties settings = new Properties();
    settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "count-" + args[2]);
    settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
    settings.put(StreamsConfig.STATE_DIR_CONFIG, args[3]);
    settings.put("auto.offset.reset", "earliest");
    for (int i = 4; i < args.length; i++) {
      String[] pair = args[i].split("=", 2);
      settings.put(pair[0], pair[1]);
    }
    return settings;
  }

  static <T> Serde<T> json(Class<T> type) {
    ObjectReader reader = JSON.readerFor(type);
    ObjectWriter writer = JSON.writerFor(type);
    return Serdes.serdeFrom(
        (topic, value) -> {
          try {
            return value == null ? null : writer.writeValueAsBytes(value);
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        },
        (topic, bytes) -> {
          try {
            return bytes == null ? null : reader.readValue(bytes);
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        });
  }
}
