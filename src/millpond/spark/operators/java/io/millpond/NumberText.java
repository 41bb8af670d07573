package io.millpond;

import java.math.BigDecimal;
import java.math.RoundingMode;
import org.apache.spark.sql.types.Decimal;

/**
 * A decimal number as text, taken apart in one pass: sign, digits, point, exponent. It never builds a number that is longer than
 * its target, so that `1e999999999` costs nothing.
 */
final class NumberText {
  private static final int LONG_DIGITS = 18;
  private static final int EXPONENT_BOUND = 1_000_000;

  private final String text;
  private boolean negative;
  /** The digits from the first that is not 0 on, as long as there are at most 18 of them. */
  private long digits;
  private int count;
  /** The value is digits * 10^exponent. */
  private int exponent;

  private NumberText(String text) {
    this.text = text;
  }

  /** The integer that `text` stands for, be it written 12, 12.0 or 1.2e1. */
  static long toLong(String text, long min, long max, String type) {
    NumberText number = scan(text);
    Long value = number == null ? null : number.integer();
    if (value == null || value < min || value > max) {
      throw Undecodable.notA(type, text);
    }
    return value;
  }

  /** The number rounded half up to `scale`; undecodable if it has more than `precision` digits then. */
  static Decimal toDecimal(String text, int precision, int scale, String type) {
    NumberText number = scan(text);
    Decimal value = number == null ? null : number.decimal(precision, scale);
    if (value == null) {
      throw Undecodable.notA(type, text);
    }
    return value;
  }

  /** A finite double; the spelling is the same as for other numbers. */
  static double toDouble(String text, String type) {
    double value = scan(text) == null ? Double.NaN : Double.parseDouble(text);
    if (Double.isNaN(value) || Double.isInfinite(value)) {
      throw Undecodable.notA(type, text);
    }
    return value;
  }

  /** A finite float, rounded once: by way of a double it would be rounded twice. */
  static float toFloat(String text, String type) {
    float value = scan(text) == null ? Float.NaN : Float.parseFloat(text);
    if (Float.isNaN(value) || Float.isInfinite(value)) {
      throw Undecodable.notA(type, text);
    }
    return value;
  }

  private static NumberText scan(String text) {
    NumberText number = new NumberText(text);
    int at = number.scanSignificand();
    at = at > 0 ? number.scanExponent(at) : at;
    return at == text.length() && at > 0 ? number : null;
  }

  /** Returns the position behind the digits, -1 if there are none. */
  private int scanSignificand() {
    int at = 0;
    int length = text.length();
    if (length > 0 && (text.charAt(0) == '-' || text.charAt(0) == '+')) {
      negative = text.charAt(at++) == '-';
    }
    boolean point = false;
    boolean any = false;
    for (; at < length; at++) {
      char c = text.charAt(at);
      if (c >= '0' && c <= '9') {
        any = true;
        exponent -= point ? 1 : 0;
        addDigit(c - '0');
      } else if (c == '.' && !point) {
        point = true;
      } else {
        break;
      }
    }
    return any ? at : -1;
  }

  private void addDigit(int digit) {
    if (count > 0 || digit > 0) {
      count++;
      digits = count <= LONG_DIGITS ? digits * 10 + digit : digits;
    }
  }

  /** Returns the position behind the exponent, which may be absent; -1 if it has no digits. */
  private int scanExponent(int start) {
    int at = start;
    if (at == text.length() || (text.charAt(at) | 0x20) != 'e') {
      return at;
    }
    at++;
    boolean minus = false;
    if (at < text.length() && (text.charAt(at) == '-' || text.charAt(at) == '+')) {
      minus = text.charAt(at++) == '-';
    }
    int first = at;
    int value = 0;
    for (; at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9'; at++) {
      value = Math.min(value * 10 + (text.charAt(at) - '0'), EXPONENT_BOUND);
    }
    exponent += minus ? -value : value;
    return at > first ? at : -1;
  }

  private Long integer() {
    if (count == 0) {
      return 0L;
    }
    if (count <= LONG_DIGITS && exponent == 0) {
      return negative ? -digits : digits;
    }
    int wholeDigits = count + exponent;
    if (wholeDigits < 1 || wholeDigits > 19) {
      return null;
    }
    try {
      return exact().longValueExact();
    } catch (ArithmeticException e) {
      return null;
    }
  }

  private Decimal decimal(int precision, int scale) {
    int wholeDigits = count + exponent;
    if (count == 0 || wholeDigits < -scale) {
      return Decimal.createUnsafe(0, precision, scale);
    }
    if (wholeDigits > precision - scale) {
      return null;
    }
    if (precision <= LONG_DIGITS && count <= LONG_DIGITS && -exponent <= scale) {
      long unscaled = digits;
      for (int i = scale + exponent; i > 0; i--) {
        unscaled *= 10;
      }
      return Decimal.createUnsafe(negative ? -unscaled : unscaled, precision, scale);
    }
    BigDecimal rounded = exact().setScale(scale, RoundingMode.HALF_UP);
    return rounded.precision() > precision ? null : Decimal.apply(rounded, precision, scale);
  }

  private BigDecimal exact() {
    if (count <= LONG_DIGITS) {
      return BigDecimal.valueOf(negative ? -digits : digits, -exponent);
    }
    return new BigDecimal(text);
  }
}
