package io.millpond;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/** Reads what was written with one schema as a value of one SQL type. Holds no state: one reader serves all records. */
abstract class AvroReader {
  /** The next value, which is read to its end; null for Avro's null. */
  abstract Object read(AvroInput in);

  /** The reader for a column of that type; one that refuses every value if the schema's type is not the column's. */
  static AvroReader of(Schema writer, DataType type) {
    switch (writer.getType()) {
      case NULL:
        return new OfNull();
      case UNION:
        return new OfUnion(writer, type);
      case ARRAY:
        return type instanceof ArrayType array ? new OfArray(writer, array) : new Misfit(writer, type);
      case MAP:
        boolean fits = type instanceof MapType map && map.keyType() instanceof StringType;
        return fits ? new OfMap(writer, (MapType) type) : new Misfit(writer, type);
      case RECORD:
        return type instanceof StructType struct ? new AvroRecordReader(writer, struct, null) : new Misfit(writer, type);
      default:
        AvroReader scalar = AvroScalarReader.of(writer, type);
        return scalar != null ? scalar : new Misfit(writer, type);
    }
  }

  private static final class OfNull extends AvroReader {
    @Override
    Object read(AvroInput in) {
      return null;
    }
  }

  /** A value of a type that is not the column's. */
  private static final class Misfit extends AvroReader {
    private final Schema writer;
    private final String reason;

    Misfit(Schema writer, DataType type) {
      this.writer = writer;
      Object logical = writer.getProp("logicalType");
      String written = logical != null ? logical.toString() : writer.getType().getName();
      reason = "Avro's " + written + " is not a " + SqlTypes.name(type);
    }

    @Override
    Object read(AvroInput in) {
      AvroSkip.skip(writer, in, 0);
      throw new Undecodable(reason);
    }
  }

  private static final class OfUnion extends AvroReader {
    private final AvroReader[] branches;

    OfUnion(Schema union, DataType type) {
      branches = union.getTypes().stream().map(branch -> of(branch, type)).toArray(AvroReader[]::new);
    }

    @Override
    Object read(AvroInput in) {
      return branches[AvroSkip.branch(in, branches.length)].read(in);
    }
  }

  private static final class OfArray extends AvroReader {
    private final AvroReader element;

    OfArray(Schema writer, ArrayType type) {
      element = of(writer.getElementType(), type.elementType());
    }

    @Override
    Object read(AvroInput in) {
      List<Object> values = new ArrayList<>();
      for (long block = in.readBlock(); block != 0; block = in.readBlock()) {
        for (long i = 0; i < block; i++) {
          try {
            values.add(element.read(in));
          } catch (Undecodable e) {
            throw e.inElement(values.size() + 1);
          }
        }
      }
      return new GenericArrayData(values.toArray());
    }
  }

  /** Where a key comes twice the last value counts. */
  private static final class OfMap extends AvroReader {
    private final AvroReader value;

    OfMap(Schema writer, MapType type) {
      value = of(writer.getValueType(), type.valueType());
    }

    @Override
    Object read(AvroInput in) {
      Map<Object, Object> entries = new LinkedHashMap<>();
      for (long block = in.readBlock(); block != 0; block = in.readBlock()) {
        for (long i = 0; i < block; i++) {
          UTF8String key = AvroScalarReader.text(in);
          try {
            entries.put(key, value.read(in));
          } catch (Undecodable e) {
            throw e.inElement(key);
          }
        }
      }
      GenericArrayData keys = new GenericArrayData(entries.keySet().toArray());
      return new ArrayBasedMapData(keys, new GenericArrayData(entries.values().toArray()));
    }
  }
}
