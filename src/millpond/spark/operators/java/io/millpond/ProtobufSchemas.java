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
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Pattern;
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
  /** Files of options, which they leave out, too; nothing of them is needed. */
  private static final Pattern OPTIONS_ALONE =
      Pattern.compile("confluent/|google/protobuf/(cpp|go|java)_features\\.proto$");
  private static final KnownSchemas<FileDescriptor> KNOWN = new KnownSchemas<>();

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
      return provided(name);
    }
    List<FileDescriptor> imports = new ArrayList<>();
    for (String dependency : file.getDependencyList()) {
      imports.add(build(dependency, protos, made));
    }
    FileDescriptor built = FileDescriptor.buildFrom(file, imports.toArray(FileDescriptor[]::new));
    made.put(name, built);
    return built;
  }

  /** A file that nobody has to give; one of options may be empty. */
  private static FileDescriptor provided(String name) throws DescriptorValidationException {
    FileDescriptor known = WELL_KNOWN.get(name);
    if (known == null && !OPTIONS_ALONE.matcher(name).lookingAt()) {
      throw new Undecodable("it imports '" + name + "', which is missing");
    }
    FileDescriptorProto empty = FileDescriptorProto.newBuilder().setName(name).build();
    return known == null ? FileDescriptor.buildFrom(empty, new FileDescriptor[0]) : known;
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
    FileDescriptor file = KNOWN.get(registry, id, () -> parsed(registry, registry.found(id, SERIALIZED), id));
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
    Map<String, FileDescriptorProto> files = new HashMap<>();
    try {
      return build(collect(registry, found, "", files), files, new HashMap<>());
    } catch (Undecodable e) {
      throw new Undecodable("schema " + id + ": " + e.getMessage());
    } catch (IllegalArgumentException | InvalidProtocolBufferException e) {
      throw new Undecodable("schema " + id + " is text: the registry does not give it in serialized form");
    } catch (DescriptorValidationException e) {
      throw new Undecodable("schema " + id + ": its files do not fit together: " + e.getMessage());
    }
  }

  /** The name of the file, which `files` has from then on, with those that it refers to; an empty `name` is its own. */
  private static String collect(SchemaRegistry registry, JsonNode found, String name, Map<String, FileDescriptorProto> files)
      throws InvalidProtocolBufferException {
    if (!found.path("schemaType").asText("AVRO").equals("PROTOBUF")) {
      throw new Undecodable("it is not of type PROTOBUF");
    }
    FileDescriptorProto file = FileDescriptorProto.parseFrom(Base64.getDecoder().decode(found.path("schema").asText()));
    String known = Stream.of(name, file.getName(), "schema.proto").filter(n -> !n.isEmpty()).findFirst().get();
    for (JsonNode reference : found.path("references")) {
      collect(registry, ask(registry, reference), reference.path("name").asText(), files);
    }
    files.put(known, file.toBuilder().setName(known).build());
    return known;
  }

  private static JsonNode ask(SchemaRegistry registry, JsonNode reference) {
    JsonNode found = registry.ask(SchemaRegistry.path(reference) + SERIALIZED);
    if (found == null) {
      throw new Undecodable("it refers to '" + reference.path("name").asText() + "', which is missing");
    }
    return found;
  }
}
