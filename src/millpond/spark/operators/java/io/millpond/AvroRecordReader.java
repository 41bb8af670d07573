package io.millpond;

import java.util.Collection;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Reads a record. A column is found by its exact name, then without case; one without a field is NULL. Columns that nobody needs are
 * type-checked, but not kept; fields without a column are passed over.
 */
final class AvroRecordReader extends AvroReader {
  private final Schema[] fields;
  private final String[] names;
  /** By field; null for one without a column. */
  private final AvroReader[] readers;
  /** Position in the result by field, -1 for one that is only checked. */
  private final int[] slots;
  private final int width;

  /** @param needed the names that the result has; null for all */
  AvroRecordReader(Schema writer, StructType struct, Collection<String> needed) {
    List<Schema.Field> written = writer.getFields();
    fields = written.stream().map(Schema.Field::schema).toArray(Schema[]::new);
    names = new String[fields.length];
    readers = new AvroReader[fields.length];
    slots = new int[fields.length];
    int next = 0;
    for (StructField column : struct.fields()) {
      int slot = needed == null || needed.contains(column.name()) ? next++ : -1;
      int field = find(written, column.name());
      if (field >= 0 && (readers[field] == null || written.get(field).name().equals(column.name()))) {
        names[field] = column.name();
        readers[field] = AvroReader.of(fields[field], column.dataType());
        slots[field] = slot;
      }
    }
    width = next;
  }

  private static int find(List<Schema.Field> fields, String name) {
    int found = -1;
    int alike = 0;
    for (int i = 0; i < fields.size(); i++) {
      if (fields.get(i).name().equals(name)) {
        return i;
      }
      if (fields.get(i).name().equalsIgnoreCase(name)) {
        found = i;
        alike++;
      }
    }
    return alike == 1 ? found : -1;
  }

  @Override
  GenericInternalRow read(AvroInput in) {
    Object[] row = new Object[width];
    for (int i = 0; i < fields.length; i++) {
      if (readers[i] == null) {
        AvroSkip.skip(fields[i], in, 0);
        continue;
      }
      try {
        Object value = readers[i].read(in);
        if (slots[i] >= 0) {
          row[slots[i]] = value;
        }
      } catch (Undecodable e) {
        throw e.inField(names[i]);
      }
    }
    return new GenericInternalRow(row);
  }
}
