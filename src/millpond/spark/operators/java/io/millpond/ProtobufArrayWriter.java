package io.millpond;

import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.Descriptors.FieldDescriptor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.ArrayType;

/** Writes an ARRAY of values without parts: packed if the field is, else one by one. A null element is the default. */
final class ProtobufArrayWriter implements ProtobufWriter.Put {
  private final ProtobufPut element;
  private final int number;
  private final boolean packed;

  ProtobufArrayWriter(FieldDescriptor field, ArrayType type) {
    element = ProtobufPut.of(field, type.elementType());
    number = field.getNumber();
    packed = field.isPacked();
  }

  @Override
  public void put(SpecializedGetters from, int index, CodedOutputStream out) throws IOException {
    ArrayData values = from.getArray(index);
    if (!packed) {
      for (int i = 0; i < values.numElements(); i++) {
        element.put(element.orZero(values, i), out);
      }
    } else if (values.numElements() > 0) {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      CodedOutputStream inner = CodedOutputStream.newInstance(bytes, 256);
      for (int i = 0; i < values.numElements(); i++) {
        element.putPlain(element.orZero(values, i), inner);
      }
      inner.flush();
      out.writeByteArray(number, bytes.toByteArray());
    }
  }
}
