import com.fasterxml.jackson.databind.DeserializationFeature;
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
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.processor.TimestampExtractor;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * The benchmarks' queries with Kafka Streams.
 *
 * <p>Arguments: job, broker list, input topics separated by commas, output topic, state folder, then settings of Kafka Streams as
 * key=value.
 */
public final class Jobs {
  private static final ObjectMapper JSON =
      new ObjectMapper().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES);
  private static final Serde<String> TEXT = Serdes.String();

  /** Nothing but its key is needed of a row that is counted; null would not be. */
  private static final byte[] ONE = {};

  record Click(long event_time, String device_id, String url, String ip, String userid, long serial) {}

  record User(long registertime, String userid, String region) {}

  record Enriched(String userid, long serial, String url, String region) {}

  record Visits(String url, long visits) {}

  record RegionVisits(String region, long visits) {}

  record Order(long ordered_at, String orderid, double amount) {}

  record Payment(long paid_at, String orderid, String method) {}

  record Paid(String orderid, double amount, String method) {}

  public static void main(String[] args) {
    String[] inputs = args[2].split(",");
    Topology topology =
        switch (args[0]) {
          case "count" -> count(inputs[0], args[3]);
          case "enrich" -> enrich(inputs[0], inputs[1], args[3]);
          case "regions" -> regions(inputs[0], inputs[1], args[3]);
          case "match" -> match(inputs[0], inputs[1], args[3]);
          default -> throw new IllegalArgumentException("no job '" + args[0] + "'");
        };
    KafkaStreams streams = new KafkaStreams(topology, settings(args));
    streams.setUncaughtExceptionHandler(
        e -> {
          e.printStackTrace();
          System.exit(1);
          return null;
        });
    Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(5))));
    streams.start();
  }

  /** Visits per url. */
  static Topology count(String clicks, String output) {
    StreamsBuilder builder = new StreamsBuilder();
    counted(builder.stream(clicks, Consumed.with(TEXT, json(Click.class))).map((user, c) -> KeyValue.pair(c.url(), ONE)))
        .map((url, visits) -> KeyValue.pair(url, new Visits(url, visits)))
        .to(output, Produced.with(TEXT, json(Visits.class)));
    return builder.build();
  }

  /** Each click with its user's region. */
  static Topology enrich(String clicks, String users, String output) {
    StreamsBuilder builder = new StreamsBuilder();
    enriched(builder, clicks, users).to(output, Produced.with(TEXT, json(Enriched.class)));
    return builder.build();
  }

  /** Visits per region of the users. */
  static Topology regions(String clicks, String users, String output) {
    StreamsBuilder builder = new StreamsBuilder();
    counted(enriched(builder, clicks, users).map((user, row) -> KeyValue.pair(row.region(), ONE)))
        .map((region, visits) -> KeyValue.pair(region, new RegionVisits(region, visits)))
        .to(output, Produced.with(TEXT, json(RegionVisits.class)));
    return builder.build();
  }

  /** Each order with its payment, at most five minutes apart. */
  static Topology match(String orders, String payments, String output) {
    StreamsBuilder builder = new StreamsBuilder();
    TimestampExtractor orderTime = (row, before) -> ((Order) row.value()).ordered_at();
    TimestampExtractor paymentTime = (row, before) -> ((Payment) row.value()).paid_at();
    KStream<String, Payment> right =
        builder.stream(payments, Consumed.with(TEXT, json(Payment.class)).withTimestampExtractor(paymentTime));
    builder.stream(orders, Consumed.with(TEXT, json(Order.class)).withTimestampExtractor(orderTime))
        .join(
            right,
            (order, payment) -> new Paid(order.orderid(), order.amount(), payment.method()),
            JoinWindows.ofTimeDifferenceWithNoGrace(Duration.ofMinutes(5)),
            StreamJoined.with(TEXT, json(Order.class), json(Payment.class)))
        .to(output, Produced.with(TEXT, json(Paid.class)));
    return builder.build();
  }

  private static KStream<String, Enriched> enriched(StreamsBuilder builder, String clicks, String users) {
    KTable<String, User> table = builder.table(users, Consumed.with(TEXT, json(User.class)));
    return builder.stream(clicks, Consumed.with(TEXT, json(Click.class)))
        .leftJoin(
            table,
            (c, u) -> new Enriched(c.userid(), c.serial(), c.url(), u == null ? "none" : u.region()),
            Joined.with(TEXT, json(Click.class), json(User.class)));
  }

  private static KStream<String, Long> counted(KStream<String, byte[]> rows) {
    return rows.groupByKey(Grouped.with(TEXT, Serdes.ByteArray()))
        .count(Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as("visits"))
        .toStream();
  }

  static Properties settings(String[] args) {
    Properties settings = new Properties();
    settings.put(StreamsConfig.APPLICATION_ID_CONFIG, args[0] + "-" + args[3]);
    settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[1]);
    settings.put(StreamsConfig.STATE_DIR_CONFIG, args[4]);
    settings.put("auto.offset.reset", "earliest");
    for (int i = 5; i < args.length; i++) {
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
