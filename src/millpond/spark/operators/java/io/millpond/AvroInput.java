package io.millpond;

import java.util.Arrays;

/** Bytes in Avro's binary form, read from front to back. What they lack is `Undecodable`, never an error of the JVM. */
final class AvroInput {
  private final byte[] bytes;
  private int position;

  AvroInput(byte[] bytes, int position) {
    this.bytes = bytes;
    this.position = position;
  }

  /** A number of zigzag-coded groups of seven bits: Avro's int and long. */
  long readLong() {
    long raw = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      byte b = bytes[take(1)];
      raw |= (b & 0x7FL) << shift;
      if (b >= 0) {
        return raw >>> 1 ^ -(raw & 1);
      }
    }
    throw new Undecodable("not Avro of its schema: a number of more than 64 bits");
  }

  boolean readBoolean() {
    return bytes[take(1)] != 0;
  }

  float readFloat() {
    return Float.intBitsToFloat((int) fixed(4));
  }

  double readDouble() {
    return Double.longBitsToDouble(fixed(8));
  }

  /** Bytes with their length in front. */
  byte[] readBytes() {
    return readFixed(readLong());
  }

  byte[] readFixed(long length) {
    int start = take(length);
    return Arrays.copyOfRange(bytes, start, position);
  }

  void skip(long length) {
    take(length);
  }

  int remaining() {
    return bytes.length - position;
  }

  /** The number of items in the next block of an array or map; 0 behind the last. */
  long readBlock() {
    long count = readLong();
    if (count < 0) {
      readLong(); // the block's size in bytes
      count = -count;
    }
    // Items may be empty, so this is no exact check: it only keeps a false number from being believed.
    if (count < 0 || count > Decoder.MAX_BYTES) {
      throw new Undecodable("not Avro of its schema: a block of " + count + " items");
    }
    return count;
  }

  private long fixed(int width) {
    int start = take(width);
    long value = 0;
    for (int i = width - 1; i >= 0; i--) {
      value = value << 8 | bytes[start + i] & 0xFF;
    }
    return value;
  }

  /** Where the next `length` bytes begin. */
  private int take(long length) {
    if (length < 0 || length > remaining()) {
      throw new Undecodable("not Avro of its schema: it ends too early");
    }
    int start = position;
    position += (int) length;
    return start;
  }
}
