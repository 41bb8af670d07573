package io.millpond;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.WireFormat;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.*;

/** Reads one field of a message as a value of one SQL type: what comes in pieces first, the value at the end. */
abstract class ProtobufField {
  /** Whether it is read from that wire type; else it is passed over, as a field that is not known. */
  abstract boolean takes(int wire);

  /** What is known of the field after its next piece; `before` is null for the first. */
  abstract Object read(CodedInputStream in, int wire, Object before) throws IOException;

  /** The column's value. Null stands for a field that did not come. */
  abstract Object value(Object state);

  /** The reader for a column of that type; one that refuses every value if the field's type is not the column's. */
  static ProtobufField of(FieldDescriptor field, DataType type) {
    String reason = unread(field);
    if (reason != null) {
      return new Misfit(field, reason);
    }
    if (field.isMapField()) {
      return type instanceof MapType map ? ofMap(field, map) : new Misfit(field, "Protobuf's map is not a " + SqlTypes.name(type));
    }
    if (field.isRepeated() && !(type instanceof ArrayType)) {
      return new Misfit(field, "Protobuf's repeated field is not a " + SqlTypes.name(type));
    }
    DataType single = field.isRepeated() ? ((ArrayType) type).elementType() : type;
    if (field.getJavaType() == FieldDescriptor.JavaType.MESSAGE) {
      ProtobufMessage message = ProtobufMessage.of(field.getMessageType(), single);
      return message == null ? misfit(field, single) : field.isRepeated() ? new OfMessages(message) : new OfMessage(message);
    }
    ProtobufScalar scalar = ProtobufScalar.of(field, single);
    return scalar == null ? misfit(field, single) : field.isRepeated() ? new OfScalars(scalar) : new OfScalar(field, scalar);
  }

  private static String unread(FieldDescriptor field) {
    if (field.getRealContainingOneof() != null) {
      return "it is in a oneof, which is not supported";
    }
    if (field.getType() == FieldDescriptor.Type.GROUP) {
      return "it is a group, which is not supported";
    }
    boolean any = field.getType() == FieldDescriptor.Type.MESSAGE
        && field.getMessageType().getFullName().equals("google.protobuf.Any");
    return any ? "Any holds a message of any type" : null;
  }

  private static Misfit misfit(FieldDescriptor field, DataType type) {
    return new Misfit(field, "Protobuf's " + kind(field) + " is not a " + SqlTypes.name(type));
  }

  private static String kind(FieldDescriptor field) {
    boolean message = field.getType() == FieldDescriptor.Type.MESSAGE;
    return message ? field.getMessageType().getFullName() : field.getType().toString().toLowerCase(java.util.Locale.ROOT);
  }

  private static ProtobufField ofMap(FieldDescriptor field, MapType type) {
    ProtobufField key = of(field.getMessageType().findFieldByNumber(1), type.keyType());
    ProtobufField value = of(field.getMessageType().findFieldByNumber(2), type.valueType());
    for (ProtobufField part : List.of(key, value)) {
      if (part instanceof Misfit misfit) {
        return new Misfit(field, misfit.reason);
      }
    }
    return new OfMap(key, value);
  }

  /** A value of a type that is not the column's. */
  private static final class Misfit extends ProtobufField {
    private final String reason;
    private final int number;
    private final int wire;
    private final boolean always;

    Misfit(FieldDescriptor field, String reason) {
      this.reason = reason;
      number = field.getNumber();
      wire = field.getLiteType().getWireType();
      always = !field.hasPresence() && !field.isRepeated();
    }

    @Override
    boolean takes(int wire) {
      return wire == this.wire || wire == WireFormat.WIRETYPE_LENGTH_DELIMITED;
    }

    @Override
    Object read(CodedInputStream in, int wire, Object before) throws IOException {
      in.skipField(number << 3 | wire);
      return Boolean.TRUE;
    }

    @Override
    Object value(Object state) {
      if (state != null || always) {
        throw new Undecodable(reason);
      }
      return null;
    }
  }

  private static final class OfScalar extends ProtobufField {
    private final ProtobufScalar scalar;
    private final boolean nullable;

    OfScalar(FieldDescriptor field, ProtobufScalar scalar) {
      this.scalar = scalar;
      nullable = field.hasPresence();
    }

    @Override
    boolean takes(int wire) {
      return wire == scalar.wire;
    }

    @Override
    Object read(CodedInputStream in, int wire, Object before) throws IOException {
      Object raw = scalar.read(in);
      return raw == null ? before : raw;
    }

    @Override
    Object value(Object state) {
      return state != null ? scalar.value(state) : nullable ? null : scalar.value(scalar.zero);
    }
  }

  /** An ARRAY: its state is the list of what was read. */
  private abstract static class OfRepeated extends ProtobufField {
    abstract Object element(Object raw);

    @Override
    Object value(Object state) {
      List<Object> values = list(state);
      Object[] made = new Object[values.size()];
      for (int i = 0; i < made.length; i++) {
        try {
          made[i] = element(values.get(i));
        } catch (Undecodable e) {
          throw e.inElement(i + 1);
        }
      }
      return new GenericArrayData(made);
    }
  }

  /** One by one, or packed. */
  private static final class OfScalars extends OfRepeated {
    private final ProtobufScalar scalar;

    OfScalars(ProtobufScalar scalar) {
      this.scalar = scalar;
    }

    @Override
    boolean takes(int wire) {
      return wire == scalar.wire || wire == WireFormat.WIRETYPE_LENGTH_DELIMITED;
    }

    @Override
    Object read(CodedInputStream in, int wire, Object before) throws IOException {
      List<Object> values = list(before);
      if (wire == scalar.wire) {
        add(values, in);
        return values;
      }
      int limit = in.pushLimit(in.readRawVarint32());
      while (in.getBytesUntilLimit() > 0) {
        add(values, in);
      }
      in.popLimit(limit);
      return values;
    }

    private void add(List<Object> values, CodedInputStream in) throws IOException {
      Object raw = scalar.read(in);
      if (raw != null) {
        values.add(raw);
      }
    }

    @Override
    Object element(Object raw) {
      return scalar.value(raw);
    }
  }

  private static final class OfMessage extends ProtobufField {
    private final ProtobufMessage message;

    OfMessage(ProtobufMessage message) {
      this.message = message;
    }

    @Override
    boolean takes(int wire) {
      return wire == WireFormat.WIRETYPE_LENGTH_DELIMITED;
    }

    @Override
    Object read(CodedInputStream in, int wire, Object before) throws IOException {
      return message.read(in, (Object[]) before);
    }

    @Override
    Object value(Object state) {
      return state == null ? null : message.value((Object[]) state);
    }
  }

  private static final class OfMessages extends OfRepeated {
    private final ProtobufMessage message;

    OfMessages(ProtobufMessage message) {
      this.message = message;
    }

    @Override
    boolean takes(int wire) {
      return wire == WireFormat.WIRETYPE_LENGTH_DELIMITED;
    }

    @Override
    Object read(CodedInputStream in, int wire, Object before) throws IOException {
      List<Object> values = list(before);
      values.add(message.read(in, null));
      return values;
    }

    @Override
    Object element(Object raw) {
      return message.value((Object[]) raw);
    }
  }

  /**
   * Entries are messages of a key and a value; either may be left out and is its default then. Of one key the last entry counts. An
   * entry with anything else in it counts as a field that is not known, as in Protobuf's own classes for Python.
   */
  private static final class OfMap extends ProtobufField {
    private final ProtobufField key;
    private final ProtobufField value;

    OfMap(ProtobufField key, ProtobufField value) {
      this.key = key;
      this.value = value;
    }

    @Override
    boolean takes(int wire) {
      return wire == WireFormat.WIRETYPE_LENGTH_DELIMITED;
    }

    @Override
    Object read(CodedInputStream in, int wire, Object before) throws IOException {
      List<Object> entries = list(before);
      Object[] entry = new Object[2];
      boolean known = true;
      int limit = in.pushLimit(in.readRawVarint32());
      for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
        int number = WireFormat.getTagFieldNumber(tag);
        ProtobufField part = number == 1 ? key : number == 2 ? value : null;
        if (part != null && part.takes(WireFormat.getTagWireType(tag))) {
          entry[number - 1] = part.read(in, WireFormat.getTagWireType(tag), entry[number - 1]);
          known &= entry[number - 1] != null;
        } else if (!in.skipField(tag)) {
          throw new Undecodable("not a Protobuf message: a group ends that did not begin");
        } else {
          known = false;
        }
      }
      in.popLimit(limit);
      if (known) {
        entries.add(entry);
      }
      return entries;
    }

    @Override
    Object value(Object state) {
      Map<Object, Object> last = new LinkedHashMap<>();
      for (Object entry : list(state)) {
        Object[] pair = (Object[]) entry;
        Object name = ofPart(key, pair[0]);
        try {
          last.put(name, ofPart(value, pair[1]));
        } catch (Undecodable e) {
          throw e.inElement(name);
        }
      }
      GenericArrayData keys = new GenericArrayData(last.keySet().toArray());
      return new ArrayBasedMapData(keys, new GenericArrayData(last.values().toArray()));
    }

    private static Object ofPart(ProtobufField part, Object state) {
      if (state != null) {
        return part.value(state);
      }
      return part instanceof OfMessage nested ? nested.message.empty() : ((OfScalar) part).scalar.zeroValue();
    }
  }

  @SuppressWarnings("unchecked")
  private static List<Object> list(Object state) {
    return state == null ? new ArrayList<>() : (List<Object>) state;
  }
}
