package io.millpond;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.Descriptors.EnumDescriptor;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/** Reads values without parts: first as they are on the wire (Long, Double, Boolean or bytes), then as the column's. */
final class ProtobufScalar {
  private interface Wire {
    Object read(CodedInputStream in) throws IOException;
  }

  private interface Convert {
    Object of(Object raw);
  }

  /** The wire type of one value. */
  final int wire;
  /** As it is on the wire, of a field that did not come. */
  final Object zero;
  private final Wire read;
  private final Convert convert;

  private ProtobufScalar(FieldDescriptor field, Wire read, Convert convert) {
    wire = field.getLiteType().getWireType();
    zero = switch (field.getJavaType()) {
      case FLOAT, DOUBLE -> (Object) 0.0;
      case BOOLEAN -> false;
      case STRING, BYTE_STRING -> new byte[0];
      case ENUM -> (long) field.getEnumType().getValues().get(0).getNumber();
      default -> 0L;
    };
    this.read = read;
    this.convert = convert;
  }

  /** Null if a column of that type cannot come of the field's. */
  static ProtobufScalar of(FieldDescriptor field, DataType type) {
    Convert convert = switch (field.getJavaType()) {
      case INT, LONG -> ofWhole(field.getType(), type);
      case FLOAT, DOUBLE -> ofFloating(field, type);
      case BOOLEAN -> type instanceof BooleanType ? raw -> raw : null;
      case STRING -> ofText(type);
      case BYTE_STRING -> type instanceof BinaryType ? raw -> raw : null;
      case ENUM -> type instanceof StringType ? ofEnum(field.getEnumType()) : null;
      default -> null;
    };
    return convert == null ? null : new ProtobufScalar(field, wire(field), convert);
  }

  /** Null for a symbol that its closed enum does not have: that counts as a field that is not known. */
  Object read(CodedInputStream in) throws IOException {
    return read.read(in);
  }

  Object value(Object raw) {
    return convert.of(raw);
  }

  Object zeroValue() {
    return convert.of(zero);
  }

  private static Wire wire(FieldDescriptor field) {
    return switch (field.getType()) {
      case INT32 -> in -> (long) in.readInt32();
      case UINT32 -> in -> in.readUInt32() & 0xFFFFFFFFL;
      case SINT32 -> in -> (long) in.readSInt32();
      case FIXED32 -> in -> in.readFixed32() & 0xFFFFFFFFL;
      case SFIXED32 -> in -> (long) in.readSFixed32();
      case INT64, UINT64 -> CodedInputStream::readInt64;
      case SINT64 -> CodedInputStream::readSInt64;
      case FIXED64, SFIXED64 -> CodedInputStream::readFixed64;
      case FLOAT -> in -> (double) in.readFloat();
      case DOUBLE -> CodedInputStream::readDouble;
      case BOOL -> CodedInputStream::readBool;
      case ENUM -> symbol(field);
      default -> CodedInputStream::readByteArray;
    };
  }

  private static Wire symbol(FieldDescriptor field) {
    EnumDescriptor symbols = field.getEnumType();
    if (!field.legacyEnumFieldTreatedAsClosed()) {
      return in -> (long) in.readEnum();
    }
    return in -> {
      int number = in.readEnum();
      return symbols.findValueByNumber(number) == null ? null : (Object) (long) number;
    };
  }

  /** A number without a symbol is text of its digits. */
  private static Convert ofEnum(EnumDescriptor type) {
    Map<Object, UTF8String> symbols = new HashMap<>();
    for (EnumValueDescriptor symbol : type.getValues()) {
      symbols.putIfAbsent((long) symbol.getNumber(), UTF8String.fromString(symbol.getName()));
    }
    return raw -> {
      UTF8String found = symbols.get(raw);
      return found != null ? found : UTF8String.fromString(raw.toString());
    };
  }

  private static Convert ofFloating(FieldDescriptor field, DataType type) {
    if (type instanceof DoubleType) {
      return raw -> raw;
    }
    if (!(type instanceof FloatType)) {
      return null;
    }
    boolean exact = field.getType() == FieldDescriptor.Type.FLOAT;
    return exact ? raw -> (float) (double) raw : raw -> AvroScalarReader.single((double) raw);
  }

  /** Numbers are longs; those of 64 bits without a sign may be larger than any long. */
  private static Convert ofWhole(FieldDescriptor.Type written, DataType type) {
    boolean unsigned = written == FieldDescriptor.Type.UINT64 || written == FieldDescriptor.Type.FIXED64;
    if (type instanceof DecimalType decimal) {
      return raw -> AvroScalarReader.fitted(exact((long) raw, unsigned), decimal);
    }
    if (type instanceof DoubleType) {
      return raw -> exact((long) raw, unsigned).doubleValue();
    }
    if (type instanceof FloatType) {
      return raw -> (float) exact((long) raw, unsigned).doubleValue();
    }
    if (type instanceof LongType || type instanceof IntegerType || type instanceof ShortType || type instanceof ByteType) {
      return raw -> AvroScalarReader.narrowed(signed((long) raw, unsigned, type), type);
    }
    if (type instanceof TimestampType || type instanceof TimestampNTZType) {
      return raw -> AvroLogical.micros(signed((long) raw, unsigned, type), type);
    }
    return null;
  }

  private static BigDecimal exact(long raw, boolean unsigned) {
    return raw < 0 && unsigned ? new BigDecimal(Long.toUnsignedString(raw)) : BigDecimal.valueOf(raw);
  }

  private static long signed(long raw, boolean unsigned, DataType type) {
    if (raw < 0 && unsigned) {
      throw Undecodable.notA(SqlTypes.name(type), Long.toUnsignedString(raw));
    }
    return raw;
  }

  private static Convert ofText(DataType type) {
    if (type instanceof StringType) {
      return raw -> text(raw);
    }
    String name = SqlTypes.name(type);
    if (type instanceof DecimalType decimal) {
      return parsed(text -> NumberText.toDecimal(text, decimal.precision(), decimal.scale(), name));
    }
    if (type instanceof DateType) {
      return parsed(text -> DateTimeText.toDays(text, name));
    }
    if (type instanceof TimeType) {
      return parsed(text -> DateTimeText.toMicrosOfDay(text, name) * 1000);
    }
    if (type instanceof TimestampNTZType) {
      return parsed(text -> DateTimeText.toMicros(text, name));
    }
    return type instanceof TimestampType ? parsed(text -> DateTimeText.toInstantMicros(text, name)) : null;
  }

  private interface Parse {
    Object of(String text);
  }

  /** Empty text, which is what proto3 has for nothing, is null. */
  private static Convert parsed(Parse parse) {
    return raw -> {
      String text = text(raw).toString();
      return text.isEmpty() ? null : parse.of(text);
    };
  }

  private static UTF8String text(Object raw) {
    UTF8String text = UTF8String.fromBytes((byte[]) raw);
    if (!text.isValid()) {
      throw new Undecodable("not UTF-8, as VARCHAR must be");
    }
    return text;
  }
}
