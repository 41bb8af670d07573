package io.millpond;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.protobuf.AnyProto;
import com.google.protobuf.ApiProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.DescriptorValidationException;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DurationProto;
import com.google.protobuf.EmptyProto;
import com.google.protobuf.FieldMaskProto;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.SourceContextProto;
import com.google.protobuf.StructProto;
import com.google.protobuf.TimestampProto;
import com.google.protobuf.TypeProto;
import com.google.protobuf.WrappersProto;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Messages' descriptors: out of a compiled descriptor set, or out of a schema registry. */
final class ProtobufSchemas {
  /** Settings: the serialized descriptor set in base64, and the message's full name. */
  private static final String FILES = "protobuf.files";
  private static final String MESSAGE = "protobuf.message";
  private static final String SERIALIZED = "?format=serialized";

  /** Files that registries and descriptor sets leave out. */
  private static final Map<String, FileDescriptor> WELL_KNOWN = Stream.of(
          AnyProto.getDescriptor(), ApiProto.getDescriptor(), DurationProto.getDescriptor(), EmptyProto.getDescriptor(),
          FieldMaskProto.getDescriptor(), SourceContextProto.getDescriptor(), StructProto.getDescriptor(),
          TimestampProto.getDescriptor(), TypeProto.getDescriptor(), WrappersProto.getDescriptor(),
          com.google.protobuf.DescriptorProtos.getDescriptor())
      .collect(Collectors.toUnmodifiableMap(FileDescriptor::getFullName, Function.identity()));
  /** By registry and id. */
  private static final Map<String, FileDescriptor> KNOWN = new ConcurrentHashMap<>();

  private ProtobufSchemas() {}

  static boolean isGiven(Map<String, String> settings) {
    return settings.containsKey(FILES);
  }

  /** Those of `settings` that name a message. */
  static Map<String, String> ofMessage(Map<String, String> settings) {
    return new HashMap<>(Map.of(FILES, settings.get(FILES), MESSAGE, settings.get(MESSAGE)));
  }

  /** The descriptor that the settings hold. */
  static Descriptor given(Map<String, String> settings) {
    try {
      FileDescriptorSet set = FileDescriptorSet.parseFrom(Base64.getDecoder().decode(settings.get(FILES)));
      Map<String, FileDescriptorProto> protos = new LinkedHashMap<>();
      set.getFileList().forEach(file -> protos.put(file.getName(), file));
      Map<String, FileDescriptor> made = new HashMap<>();
      for (String name : protos.keySet()) {
        Descriptor found = find(build(name, protos, made), settings.get(MESSAGE));
        if (found != null) {
          return found;
        }
      }
    } catch (InvalidProtocolBufferException | DescriptorValidationException e) {
      throw new IllegalArgumentException("no descriptor set: " + e.getMessage());
    }
    throw new IllegalArgumentException("no message " + settings.get(MESSAGE) + " in its descriptor set");
  }

  private static FileDescriptor build(
      String name, Map<String, FileDescriptorProto> protos, Map<String, FileDescriptor> made)
      throws DescriptorValidationException {
    FileDescriptor known = made.get(name);
    if (known != null) {
      return known;
    }
    FileDescriptorProto file = protos.get(name);
    if (file == null) {
      return WELL_KNOWN.get(name);
    }
    Map<String, FileDescriptor> imports = new LinkedHashMap<>();
    for (String dependency : file.getDependencyList()) {
      imports.put(dependency, build(dependency, protos, made));
    }
    FileDescriptor built = built(file, imports);
    made.put(name, built);
    return built;
  }

  private static FileDescriptor built(FileDescriptorProto file, Map<String, FileDescriptor> imports)
      throws DescriptorValidationException {
    FileDescriptor[] found = imports.values().stream().filter(f -> f != null).toArray(FileDescriptor[]::new);
    return FileDescriptor.buildFrom(file, found, true);
  }

  private static Descriptor find(FileDescriptor file, String fullName) {
    for (Descriptor message : file.getMessageTypes()) {
      Descriptor found = find(message, fullName);
      if (found != null) {
        return found;
      }
    }
    return null;
  }

  private static Descriptor find(Descriptor message, String fullName) {
    if (message.getFullName().equals(fullName)) {
      return message;
    }
    for (Descriptor nested : message.getNestedTypes()) {
      Descriptor found = find(nested, fullName);
      if (found != null) {
        return found;
      }
    }
    return null;
  }

  /**
   * The message at that place of the registry's schema.
   *
   * @throws Undecodable if there is none
   * @throws SchemaRegistry.Away if the registry cannot be asked
   */
  static Descriptor message(SchemaRegistry registry, int id, List<Integer> path) {
    String key = registry.address() + " " + id;
    FileDescriptor file = KNOWN.get(key);
    if (file == null) {
      file = parsed(registry, registry.found(id, SERIALIZED), id);
      KNOWN.put(key, file);
    }
    List<Descriptor> messages = file.getMessageTypes();
    Descriptor found = null;
    for (int place : path) {
      if (place < 0 || place >= messages.size()) {
        throw new Undecodable("schema " + id + " has no message " + path);
      }
      found = messages.get(place);
      messages = found.getNestedTypes();
    }
    return found;
  }

  /** With the files that it refers to, each of which the registry has as a version of a subject. */
  private static FileDescriptor parsed(SchemaRegistry registry, JsonNode found, int id) {
    if (!found.path("schemaType").asText("AVRO").equals("PROTOBUF")) {
      throw new Undecodable("schema " + id + " is not Protobuf");
    }
    Map<String, JsonNode> references = new HashMap<>();
    found.path("references").forEach(r -> references.put(r.path("name").asText(), r));
    try {
      FileDescriptorProto file = FileDescriptorProto.parseFrom(Base64.getDecoder().decode(found.path("schema").asText()));
      Map<String, FileDescriptor> imports = new LinkedHashMap<>();
      for (String dependency : file.getDependencyList()) {
        JsonNode reference = references.get(dependency);
        imports.put(
            dependency, reference == null ? WELL_KNOWN.get(dependency) : parsed(registry, ask(registry, reference, id), id));
      }
      return built(file, imports);
    } catch (IllegalArgumentException | InvalidProtocolBufferException e) {
      throw new Undecodable("schema " + id + " is text: the registry does not give it in serialized form");
    } catch (DescriptorValidationException e) {
      throw new Undecodable("schema " + id + ": its files do not fit together: " + e.getMessage());
    }
  }

  private static JsonNode ask(SchemaRegistry registry, JsonNode reference, int id) {
    JsonNode found = registry.ask(SchemaRegistry.path(reference) + SERIALIZED);
    if (found == null) {
      throw new Undecodable("schema " + id + " refers to " + reference.path("name").asText() + ", which is missing");
    }
    return found;
  }
}
