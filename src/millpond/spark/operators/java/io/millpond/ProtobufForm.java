package io.millpond;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.Descriptors.Descriptor;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/**
 * A record that is a Protobuf message: of a descriptor that is given, or behind a zero byte, the id of a schema that a registry has,
 * and the place of the message in it.
 */
final class ProtobufForm implements RecordForm {
  private static final int HEADER = 5;
  /** Messages are nested in one another no deeper; a longer path is no path. */
  private static final int LONGEST_PATH = 100;
  private static final List<Integer> FIRST = List.of(0);

  /** A schema's id and the message's place. */
  private record Place(int id, List<Integer> path) {}

  private final StructType struct;
  private final Collection<String> needed;
  private final Map<String, String> settings;
  private final SchemaRegistry registry;
  private transient ProtobufReader only;
  private transient Map<Place, ProtobufReader> readers;

  /** @param settings those of `ProtobufSchemas` for a given descriptor, else those of the registry */
  ProtobufForm(StructType struct, Collection<String> needed, Map<String, String> settings) {
    this.struct = struct;
    this.needed = needed;
    boolean given = ProtobufSchemas.isGiven(settings);
    this.settings = given ? ProtobufSchemas.ofMessage(settings) : null;
    this.registry = given ? null : new SchemaRegistry(settings);
  }

  /** @throws SchemaRegistry.Away if the schema is not known yet and cannot be asked for: that is not the record's fault */
  @Override
  public InternalRow read(byte[] bytes) {
    try {
      return settings == null ? framed(bytes) : only().read(CodedInputStream.newInstance(bytes));
    } catch (IOException e) {
      throw new Undecodable("not a Protobuf message: " + e.getMessage());
    }
  }

  private InternalRow framed(byte[] bytes) throws IOException {
    if (bytes.length < HEADER || bytes[0] != 0) {
      throw new Undecodable("it does not begin with a zero byte and the id of a schema");
    }
    int id = (bytes[1] & 0xFF) << 24 | (bytes[2] & 0xFF) << 16 | (bytes[3] & 0xFF) << 8 | bytes[4] & 0xFF;
    CodedInputStream in = CodedInputStream.newInstance(bytes, HEADER, bytes.length - HEADER);
    return reader(new Place(id, path(in))).read(in);
  }

  /** The message's place: in the file, and then in the message before. */
  private static List<Integer> path(CodedInputStream in) throws IOException {
    int count = in.readSInt32();
    if (count == 0) {
      return FIRST;
    }
    if (count < 0 || count > LONGEST_PATH) {
      throw new Undecodable("it does not say which message of its schema it is");
    }
    List<Integer> path = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      path.add(in.readSInt32());
    }
    return path;
  }

  private ProtobufReader only() {
    if (only == null) {
      only = new ProtobufReader(ProtobufSchemas.given(settings), struct, needed);
    }
    return only;
  }

  private ProtobufReader reader(Place place) {
    if (readers == null) {
      readers = new HashMap<>();
    }
    ProtobufReader reader = readers.get(place);
    if (reader == null) {
      Descriptor message = ProtobufSchemas.message(registry, place.id(), place.path());
      reader = new ProtobufReader(message, struct, needed);
      readers.put(place, reader);
    }
    return reader;
  }
}
