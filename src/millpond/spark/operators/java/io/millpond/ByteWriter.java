package io.millpond;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.util.Arrays;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** A growing array of bytes with what JSON needs to be written. */
final class ByteWriter {
  private static final byte[] HEX = "0123456789abcdef".getBytes(ISO_8859_1);
  /** The letter behind the backslash by character; 0 for those that need none, u for those without a letter. */
  private static final byte[] ESCAPES = escapes();

  private byte[] buffer = new byte[256];
  private int length;

  private static byte[] escapes() {
    byte[] table = new byte[128];
    Arrays.fill(table, 0, 0x20, (byte) 'u');
    table['"'] = '"';
    table['\\'] = '\\';
    table['\n'] = 'n';
    table['\r'] = 'r';
    table['\t'] = 't';
    table['\b'] = 'b';
    table['\f'] = 'f';
    return table;
  }

  byte[] toBytes() {
    return Arrays.copyOf(buffer, length);
  }

  ByteWriter put(char ascii) {
    room(1);
    buffer[length++] = (byte) ascii;
    return this;
  }

  ByteWriter put(byte[] bytes) {
    room(bytes.length);
    System.arraycopy(bytes, 0, buffer, length, bytes.length);
    length += bytes.length;
    return this;
  }

  @SuppressWarnings("deprecation") // getBytes(int, int, byte[], int) is the fast way for ASCII
  ByteWriter putAscii(String text) {
    room(text.length());
    text.getBytes(0, text.length(), buffer, length);
    length += text.length();
    return this;
  }

  /** Decimal digits, with zeros in front up to `width`; not for negative numbers. */
  ByteWriter putDigits(int number, int width) {
    room(width);
    for (int i = width - 1; i >= 0; i--) {
      buffer[length + i] = (byte) ('0' + number % 10);
      number /= 10;
    }
    length += width;
    return this;
  }

  ByteWriter put(long number) {
    if (number < 0 || number > 999_999_999L) {
      return putAscii(Long.toString(number));
    }
    int width = 1;
    for (long bound = 10; number >= bound; bound *= 10) {
      width++;
    }
    return putDigits((int) number, width);
  }

  /** A JSON string. Bytes go through as they are but for escapes; what is not UTF-8 (CAST of bytes makes it) is replaced. */
  ByteWriter putQuoted(UTF8String text) {
    int size = text.numBytes();
    room(6 * size + 2);
    int start = length;
    buffer[length++] = '"';
    boolean ascii = true;
    for (int i = 0; i < size; i++) {
      byte b = Platform.getByte(text.getBaseObject(), text.getBaseOffset() + i);
      ascii &= b >= 0;
      if (b < 0 || ESCAPES[b] == 0) {
        buffer[length++] = b;
      } else {
        escape(b);
      }
    }
    buffer[length++] = '"';
    if (!ascii && !text.isValid()) {
      length = start;
      return putQuoted(text.makeValid());
    }
    return this;
  }

  private void escape(byte b) {
    buffer[length++] = '\\';
    buffer[length++] = ESCAPES[b];
    if (ESCAPES[b] == 'u') {
      buffer[length++] = '0';
      buffer[length++] = '0';
      buffer[length++] = HEX[b >> 4];
      buffer[length++] = HEX[b & 15];
    }
  }

  private void room(int more) {
    if (buffer.length - length < more) {
      buffer = Arrays.copyOf(buffer, Math.max(Math.addExact(length, more), Math.min(2 * buffer.length, 1 << 29)));
    }
  }
}
