package io.millpond;

import java.util.Collection;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A record that is one line of delimited text in UTF-8; its values are spelled as JSON's texts are. An empty field is NULL; one of two
 * quotes is an empty text, and NULL for a type that has none.
 */
final class DelimitedForm implements RecordForm {
  private final String[] names;
  private final JsonReader[] readers;
  /** Whether an empty text is a value of the column. */
  private final boolean[] texts;
  /** Position in the result by column, -1 for one that is only checked. */
  private final int[] slots;
  private final int width;
  private final char delimiter;

  DelimitedForm(StructType struct, Collection<String> needed, String delimiter) {
    StructField[] fields = struct.fields();
    names = new String[fields.length];
    readers = new JsonReader[fields.length];
    texts = new boolean[fields.length];
    slots = new int[fields.length];
    int next = 0;
    for (int i = 0; i < fields.length; i++) {
      DataType type = fields[i].dataType();
      names[i] = fields[i].name();
      readers[i] = JsonScalarReader.of(type);
      texts[i] = type instanceof StringType || type instanceof BinaryType;
      slots[i] = needed.contains(names[i]) ? next++ : -1;
    }
    width = next;
    this.delimiter = delimiter.charAt(0);
  }

  @Override
  public InternalRow read(byte[] bytes) {
    UTF8String text = UTF8String.fromBytes(bytes);
    if (!text.isValid()) {
      throw new Undecodable("not delimited text: not UTF-8");
    }
    String[] fields = fields(text.toString());
    Object[] row = new Object[width];
    for (int i = 0; i < names.length; i++) {
      Object value = value(i, fields[i]);
      if (slots[i] >= 0) {
        row[slots[i]] = value;
      }
    }
    return new GenericInternalRow(row);
  }

  private String[] fields(String text) {
    DelimitedLine line = new DelimitedLine(text, delimiter);
    String[] fields = new String[names.length];
    int count = 0;
    for (; line.hasNext(); count++) {
      String field = line.next();
      if (count < fields.length) {
        fields[count] = field;
      }
    }
    line.requireEnd();
    if (count != fields.length) {
      throw new Undecodable(count + " fields where there are " + fields.length + " columns");
    }
    return fields;
  }

  private Object value(int column, String field) {
    if (field == null || (field.isEmpty() && !texts[column])) {
      return null;
    }
    try {
      return readers[column].readKey(field);
    } catch (Undecodable e) {
      throw e.inField(names[column]);
    }
  }
}
