package io.millpond;

import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.*;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The columns that Python builds its plans from. Each is Spark's own expression that calls a method of one of our objects: the same way
 * that `from_json` runs, with nothing converted in between.
 */
public final class Codec {
  private Codec() {}

  /**
   * A struct of the needed columns from a record; null for a null key or value and for one that does not decode.
   *
   * @param schema all declared columns, as Spark's JSON of a struct
   * @param scan number of the scan in its plan
   * @param settings what the format needs besides: see RecordFormat in codec.py
   * @param record the record's key, value, topic, partition and offset
   */
  public static Column decode(
      String schema,
      List<String> needed,
      String format,
      boolean ofKey,
      int scan,
      BadRecords badRecords,
      Map<String, String> settings,
      List<Column> record) {
    StructType struct = struct(schema);
    Set<String> names = new HashSet<>(needed);
    RecordForm form = switch (format) {
      case "json" -> new JsonForm(struct, names);
      case "avro" -> new AvroForm(struct, names, new SchemaRegistry(settings));
      case "protobuf" -> new ProtobufForm(struct, names, settings);
      case "delimited" -> new DelimitedForm(struct, names, settings.get("delimiter"));
      default -> new PrimitiveForm(struct);
    };
    StructType result = format.equals("primitive") ? struct : JsonStructReader.resultType(struct, names);
    String part = ofKey ? "key" : "value";
    Decoder decoder = new Decoder(form, ofKey, scan, badRecords, format + " " + part + " as " + result.sql());
    return call(decoder, "decode", result, record, false);
  }

  /**
   * The bytes of a record's key or value from a struct column; null for a null.
   *
   * @param settings what the format needs besides: see RecordFormat in codec.py
   */
  public static Column encode(String schema, String format, Map<String, String> settings, Column row) {
    StructType struct = struct(schema);
    char separator = "iso8601".equals(settings.get("timestamp.format")) ? 'T' : ' ';
    RecordWriter writer = switch (format) {
      case "json" -> JsonWriter.ofRecord(struct, separator);
      case "avro" -> AvroWriter.ofRecord(struct, Integer.parseInt(settings.get("schema.id")));
      case "protobuf" -> ProtobufWriter.ofRecord(struct, settings);
      case "delimited" -> new DelimitedWriter(struct, separator, settings.get("delimiter"));
      default -> new PrimitiveForm(struct);
    };
    Encoder encoder = new Encoder(writer, format + " of " + struct.sql());
    return call(encoder, "encode", DataTypes.BinaryType, List.of(row), true);
  }

  /** True for a source record whose result is not in the sink yet. */
  public static Column notWritten(String queryId, Column partition, Column offset) {
    SkipWritten skip = new SkipWritten(queryId);
    return call(skip, "notWritten", DataTypes.BooleanType, List.of(partition, offset), false);
  }

  private static StructType struct(String json) {
    return (StructType) DataType.fromJson(json);
  }

  /** @param deterministic false also for decoding: else a filter above would be pushed down as a second decoding */
  static Column call(
      Object target, String method, DataType result, List<Column> arguments, boolean deterministic) {
    List<Expression> expressions = arguments.stream().map(ExpressionUtils::expression).toList();
    Expression object = Literal.create(target, new ObjectType(target.getClass()));
    return ExpressionUtils.column(
        new Invoke(
            object,
            method,
            result,
            CollectionConverters.asScala(expressions).toSeq(),
            CollectionConverters.asScala(List.<AbstractDataType>of()).toSeq(),
            false,
            !result.equals(DataTypes.BooleanType),
            deterministic));
  }
}
