package io.millpond;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.Collection;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** A record that is one JSON object in UTF-8. */
final class JsonForm implements RecordForm {
  private static final JsonFactory FACTORY =
      JsonFactory.builder().disable(JsonFactory.Feature.INTERN_FIELD_NAMES).build();
  private static final int LONGEST_PROBLEM = 200;

  private final JsonStructReader reader;

  JsonForm(StructType struct, Collection<String> needed) {
    reader = new JsonStructReader(struct, needed);
  }

  @Override
  public InternalRow read(byte[] bytes) {
    requireUtf8(bytes);
    try (JsonParser parser = FACTORY.createParser(bytes)) {
      if (parser.nextToken() != JsonToken.START_OBJECT) {
        throw new Undecodable(parser.currentToken() == null ? "not JSON: it is empty" : "not a JSON object");
      }
      InternalRow row = reader.read(parser, bytes);
      if (parser.nextToken() != null) {
        throw new Undecodable("not JSON: more follows the object" + at(parser.currentTokenLocation()));
      }
      return row;
    } catch (JsonProcessingException e) {
      throw new Undecodable("not JSON: " + problem(e) + at(e.getLocation()));
    } catch (IOException e) {
      throw new Undecodable("not JSON: " + e.getMessage());
    }
  }

  /** The parser guesses UTF-16 and UTF-32 from zero bytes, and lets through sequences that are not UTF-8. */
  private static void requireUtf8(byte[] bytes) {
    boolean ascii = true;
    for (byte b : bytes) {
      ascii &= b > 0;
    }
    if (ascii) {
      return;
    }
    for (int i = 0; i < bytes.length; i++) {
      if (bytes[i] == 0) {
        throw new Undecodable("not JSON: a zero byte at byte " + i);
      }
    }
    if (!UTF8String.fromBytes(bytes).isValid()) {
      throw new Undecodable("not JSON: not UTF-8");
    }
  }

  private static String problem(JsonProcessingException e) {
    String message = e.getOriginalMessage().lines().findFirst().orElse("");
    return message.length() <= LONGEST_PROBLEM ? message : message.substring(0, LONGEST_PROBLEM) + "...";
  }

  private static String at(JsonLocation location) {
    return location == null || location.getByteOffset() < 0 ? "" : " at byte " + location.getByteOffset();
  }
}
