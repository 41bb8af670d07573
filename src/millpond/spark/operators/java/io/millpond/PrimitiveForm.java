package io.millpond;

import java.nio.ByteBuffer;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/** A record that is one bare value, in the bytes of Kafka's own serializers; both directions. */
final class PrimitiveForm implements RecordForm, RecordWriter {
  private final DataType type;
  private final String column;

  PrimitiveForm(StructType struct) {
    if (struct.length() != 1) {
      throw new IllegalArgumentException("a primitive record has one column, not " + struct.length());
    }
    type = struct.fields()[0].dataType();
    column = struct.fields()[0].name();
    if (!(type instanceof StringType || type instanceof BinaryType) && width() == 0) {
      throw new IllegalArgumentException("no primitive form of " + SqlTypes.name(type));
    }
  }

  @Override
  public InternalRow read(byte[] bytes) {
    return new GenericInternalRow(new Object[] {value(bytes)});
  }

  private Object value(byte[] bytes) {
    if (type instanceof BinaryType) {
      return bytes;
    }
    if (type instanceof StringType) {
      return text(bytes);
    }
    if (bytes.length != width()) {
      throw new Undecodable(bytes.length + " bytes are not a " + SqlTypes.name(type) + " of " + width() + " bytes")
          .inField(column);
    }
    return number(ByteBuffer.wrap(bytes));
  }

  private Object text(byte[] bytes) {
    UTF8String text = UTF8String.fromBytes(bytes);
    if (!text.isValid()) {
      throw new Undecodable("not UTF-8, as VARCHAR must be").inField(column);
    }
    return text;
  }

  private Object number(ByteBuffer bytes) {
    if (type instanceof LongType) {
      return bytes.getLong();
    }
    if (type instanceof IntegerType) {
      return bytes.getInt();
    }
    if (type instanceof ShortType) {
      return bytes.getShort();
    }
    if (type instanceof DoubleType) {
      return bytes.getDouble();
    }
    return type instanceof FloatType ? (Object) bytes.getFloat() : (Object) truth(bytes.get());
  }

  private boolean truth(byte b) {
    if (b != 0 && b != 1) {
      throw new Undecodable("byte " + b + " is not a BOOLEAN").inField(column);
    }
    return b == 1;
  }

  @Override
  public byte[] write(InternalRow row) {
    if (row.isNullAt(0)) {
      return null;
    }
    ByteBuffer bytes = ByteBuffer.allocate(width());
    if (type instanceof BinaryType) {
      return row.getBinary(0);
    } else if (type instanceof StringType) {
      return row.getUTF8String(0).getBytes();
    } else if (type instanceof LongType) {
      bytes.putLong(row.getLong(0));
    } else if (type instanceof IntegerType) {
      bytes.putInt(row.getInt(0));
    } else if (type instanceof ShortType) {
      bytes.putShort(row.getShort(0));
    } else if (type instanceof DoubleType) {
      bytes.putDouble(row.getDouble(0));
    } else if (type instanceof FloatType) {
      bytes.putFloat(row.getFloat(0));
    } else {
      bytes.put((byte) (row.getBoolean(0) ? 1 : 0));
    }
    return bytes.array();
  }

  /** Bytes of a type of fixed size; 0 for others. */
  private int width() {
    boolean fixed = type instanceof LongType || type instanceof IntegerType || type instanceof ShortType
        || type instanceof DoubleType || type instanceof FloatType || type instanceof BooleanType;
    return fixed ? type.defaultSize() : 0;
  }
}
