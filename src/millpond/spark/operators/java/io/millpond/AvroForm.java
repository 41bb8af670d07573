package io.millpond;

import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;

/** A record in Avro behind a zero byte and the id of its schema, which a registry has. */
final class AvroForm implements RecordForm {
  static final int HEADER = 5;

  /** What is made of one writer's schema. */
  private interface Row {
    InternalRow read(AvroInput in);
  }

  private final StructType struct;
  private final Collection<String> needed;
  private final SchemaRegistry registry;
  private transient Map<Integer, Row> rows;

  AvroForm(StructType struct, Collection<String> needed, SchemaRegistry registry) {
    this.struct = struct;
    this.needed = needed;
    this.registry = registry;
  }

  /** @throws SchemaRegistry.Away if the schema is not known yet and cannot be asked for: that is not the record's fault */
  @Override
  public InternalRow read(byte[] bytes) {
    if (bytes.length < HEADER || bytes[0] != 0) {
      throw new Undecodable("it does not begin with a zero byte and the id of a schema");
    }
    int id = (bytes[1] & 0xFF) << 24 | (bytes[2] & 0xFF) << 16 | (bytes[3] & 0xFF) << 8 | bytes[4] & 0xFF;
    return row(id).read(new AvroInput(bytes, HEADER));
  }

  private Row row(int id) {
    if (rows == null) {
      rows = new HashMap<>();
    }
    Row row = rows.get(id);
    if (row == null) {
      row = of(registry.schema(id), id);
      rows.put(id, row);
    }
    return row;
  }

  /** A record is a row; anything else is the value of the only column. */
  private Row of(Schema schema, int id) {
    if (schema.getType() == Schema.Type.RECORD) {
      return new AvroRecordReader(schema, struct, needed)::read;
    }
    if (struct.length() != 1) {
      throw new Undecodable("schema " + id + ": it is of type " + schema.getType().getName() + ", not a record");
    }
    AvroReader value = AvroReader.of(schema, struct.fields()[0].dataType());
    String name = struct.fields()[0].name();
    boolean kept = needed.contains(name);
    return in -> {
      try {
        Object read = value.read(in);
        return new GenericInternalRow(kept ? new Object[] {read} : new Object[0]);
      } catch (Undecodable e) {
        throw e.inField(name);
      }
    };
  }
}
