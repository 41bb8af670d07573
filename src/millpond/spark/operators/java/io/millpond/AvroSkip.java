package io.millpond;

import org.apache.avro.Schema;

/** Passes over what no column asks for. */
final class AvroSkip {
  /** A schema may contain itself: no record of anybody's is nested deeper. */
  private static final int DEEPEST = 500;

  private AvroSkip() {}

  static void skip(Schema writer, AvroInput in, int depth) {
    if (depth > DEEPEST) {
      throw new Undecodable("nested more than " + DEEPEST + " deep");
    }
    switch (writer.getType()) {
      case NULL -> { }
      case BOOLEAN -> in.skip(1);
      case INT, LONG, ENUM -> in.readLong();
      case FLOAT -> in.skip(4);
      case DOUBLE -> in.skip(8);
      case STRING, BYTES -> in.skip(in.readLong());
      case FIXED -> in.skip(writer.getFixedSize());
      case UNION -> skip(writer.getTypes().get(branch(in, writer.getTypes().size())), in, depth + 1);
      case RECORD -> writer.getFields().forEach(field -> skip(field.schema(), in, depth + 1));
      case ARRAY -> items(writer.getElementType(), false, in, depth + 1);
      case MAP -> items(writer.getValueType(), true, in, depth + 1);
    }
  }

  /** Which type of a union comes next. */
  static int branch(AvroInput in, int branches) {
    long branch = in.readLong();
    if (branch < 0 || branch >= branches) {
      throw new Undecodable("not Avro of its schema: branch " + branch + " of a union of " + branches);
    }
    return (int) branch;
  }

  private static void items(Schema item, boolean named, AvroInput in, int depth) {
    for (long block = in.readBlock(); block != 0; block = in.readBlock()) {
      for (long i = 0; i < block; i++) {
        if (named) {
          in.skip(in.readLong());
        }
        skip(item, in, depth);
      }
    }
  }
}
