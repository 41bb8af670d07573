package io.millpond;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.io.Serializable;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.URLEncoder;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import javax.net.ssl.HttpsURLConnection;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.security.ssl.DefaultSslEngineFactory;

/** Schemas by their id, each asked for once in the life of the JVM. The options hold secrets and are never shown. */
final class SchemaRegistry implements Serializable {
  /** The registry does not answer, or not us. It says nothing of the record: the query fails and is tried again. */
  static final class Away extends RuntimeException {
    Away(String message) {
      super(message);
    }
  }

  private static final int SECONDS = 10;
  private static final int ATTEMPTS = 3;
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final KnownSchemas<Schema> SCHEMAS = new KnownSchemas<>();

  private final HashMap<String, String> options;

  SchemaRegistry(Map<String, String> options) {
    this.options = new HashMap<>(options);
  }

  /**
   * The schema of that id.
   *
   * @throws Undecodable if the registry has none, or none that is Avro
   * @throws Away if it cannot be asked
   */
  Schema schema(int id) {
    return SCHEMAS.get(this, id, () -> parsed(found(id, ""), id));
  }

  /** Tells registries apart. */
  String address() {
    return options.get("urls");
  }

  /**
   * What the registry has as the schema of that id.
   *
   * @param query behind the path
   * @throws Undecodable if it has none
   * @throws Away if it cannot be asked
   */
  JsonNode found(int id, String query) {
    JsonNode found = ask("/schemas/ids/" + id + query);
    if (found == null) {
      throw new Undecodable("the registry has no schema " + id);
    }
    return found;
  }

  private Schema parsed(JsonNode found, int id) {
    if (!found.path("schemaType").asText("AVRO").equals("AVRO")) {
      throw new Undecodable("schema " + id + " is not Avro");
    }
    try {
      Schema.Parser parser = new Schema.Parser();
      readReferences(found, parser, new HashSet<>());
      return parser.parse(found.path("schema").asText());
    } catch (AvroRuntimeException e) {
      throw new Undecodable("schema " + id + ": it is no Avro schema: " + e.getMessage());
    }
  }

  /** Has the parser know the types of the schemas that this one refers to. */
  private void readReferences(JsonNode found, Schema.Parser parser, Set<String> known) {
    for (JsonNode reference : found.path("references")) {
      String path = path(reference);
      if (known.add(path)) {
        JsonNode other = ask(path);
        if (other == null) {
          throw new AvroRuntimeException("it refers to " + reference.path("name").asText() + ", which is missing");
        }
        readReferences(other, parser, known);
        parser.parse(other.path("schema").asText());
      }
    }
  }

  /** Where a schema is that another refers to. */
  static String path(JsonNode reference) {
    String subject = URLEncoder.encode(reference.path("subject").asText(), UTF_8).replace("+", "%20");
    return "/subjects/" + subject + "/versions/" + reference.path("version").asText();
  }

  /** The registry's answer; null if it has no such thing. Throws Away if it cannot be asked. */
  JsonNode ask(String path) {
    String reason = "it has no address";
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      for (String url : options.getOrDefault("urls", "").split(",")) {
        try {
          HttpURLConnection connection = open(url + path);
          int status = connection.getResponseCode();
          if (status == 404) {
            return null;
          }
          if (status == 200) {
            try (InputStream body = connection.getInputStream()) {
              return JSON.readTree(body);
            }
          }
          reason = "it answers " + status;
        } catch (IOException | IllegalArgumentException e) {
          reason = e.getClass().getSimpleName() + " " + e.getMessage();
        }
      }
    }
    throw new Away("The schema registry cannot be asked for " + path + ": " + reason);
  }

  private HttpURLConnection open(String url) throws IOException {
    HttpURLConnection connection = (HttpURLConnection) URI.create(url).toURL().openConnection();
    connection.setConnectTimeout(SECONDS * 1000);
    connection.setReadTimeout(SECONDS * 1000);
    connection.setRequestProperty("Accept", "application/vnd.schemaregistry.v1+json");
    if (options.containsKey("authorization")) {
      connection.setRequestProperty("Authorization", options.get("authorization"));
    }
    if (connection instanceof HttpsURLConnection secure) {
      protect(secure);
    }
    return connection;
  }

  /** Certificates in PEM, read as Kafka's client reads those of brokers. */
  private void protect(HttpsURLConnection connection) {
    try (DefaultSslEngineFactory factory = new DefaultSslEngineFactory()) {
      Map<String, Object> settings = new HashMap<>(options);
      settings.put("ssl.protocol", "TLSv1.3");
      if (options.containsKey("ssl.key.password")) {
        settings.put("ssl.key.password", new Password(options.get("ssl.key.password")));
      }
      for (String name : new String[] {"ssl.truststore.certificates", "ssl.keystore.certificate.chain", "ssl.keystore.key"}) {
        settings.computeIfPresent(name, (k, v) -> new Password(v.toString()));
      }
      factory.configure(settings);
      connection.setSSLSocketFactory(factory.sslContext().getSocketFactory());
      if ("".equals(options.get("ssl.endpoint.identification.algorithm"))) {
        connection.setHostnameVerifier((host, session) -> true);
      }
    }
  }

  @Override
  public String toString() {
    return "SchemaRegistry";
  }
}
