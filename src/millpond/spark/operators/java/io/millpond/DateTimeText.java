package io.millpond;

import java.time.LocalDate;
import java.time.YearMonth;

/** Dates and times as text: `2024-02-29`, `23:59:59.5`, `2024-02-29 23:59:59.123` or with a T and a zone offset. */
final class DateTimeText {
  static final long MICROS_PER_SECOND = 1_000_000L;
  static final long MICROS_PER_DAY = 86_400 * MICROS_PER_SECOND;

  private final String text;
  private final String type;
  private int at;

  private DateTimeText(String text, String type) {
    this.text = text;
    this.type = type;
  }

  /** Days since 1970-01-01. */
  static int toDays(String text, String type) {
    DateTimeText cursor = new DateTimeText(text, type);
    return CalendarRange.days(cursor.ended(cursor.date()), type, text);
  }

  /** Microseconds of the day. */
  static long toMicrosOfDay(String text, String type) {
    DateTimeText cursor = new DateTimeText(text, type);
    return cursor.ended(cursor.time());
  }

  /** Microseconds since 1970-01-01 00:00:00 of a time without a zone. */
  static long toMicros(String text, String type) {
    DateTimeText cursor = new DateTimeText(text, type);
    return CalendarRange.micros(cursor.ended(cursor.dateTime()), type, text);
  }

  /** Microseconds since 1970-01-01 00:00:00 UTC; text without an offset is UTC. */
  static long toInstantMicros(String text, String type) {
    DateTimeText cursor = new DateTimeText(text, type);
    long local = cursor.dateTime();
    return CalendarRange.micros(cursor.ended(local - cursor.offsetSeconds() * MICROS_PER_SECOND), type, text);
  }

  private long dateTime() {
    long days = date();
    if (at >= text.length() || (text.charAt(at) != ' ' && text.charAt(at) != 'T')) {
      throw bad();
    }
    at++;
    return days * MICROS_PER_DAY + time();
  }

  private int date() {
    int year = year();
    expect('-');
    int month = digits(2);
    expect('-');
    int day = digits(2);
    // Years further off overflow microseconds. An offset may bring the last hours of year 0 into year 1.
    if (year < 0 || year > 10_000 || month < 1 || month > 12 || day < 1 || day > YearMonth.of(year, month).lengthOfMonth()) {
      throw bad();
    }
    return (int) LocalDate.of(year, month, day).toEpochDay();
  }

  /** Four digits, or a sign and four to six: years that need more are not in reach of microseconds in 64 bits. */
  private int year() {
    char first = at < text.length() ? text.charAt(at) : ' ';
    if (first != '-' && first != '+') {
      return digits(4);
    }
    at++;
    int year = digits(4);
    for (int more = 0; more < 2 && at < text.length() && text.charAt(at) != '-'; more++) {
      year = year * 10 + digits(1);
    }
    return first == '-' ? -year : year;
  }

  private long time() {
    int hour = digits(2);
    expect(':');
    int minute = digits(2);
    expect(':');
    int second = digits(2);
    if (hour > 23 || minute > 59 || second > 59) {
      throw bad();
    }
    return ((hour * 60L + minute) * 60 + second) * MICROS_PER_SECOND + fractionMicros();
  }

  /** Up to nine digits behind a point; those behind the sixth are dropped. */
  private int fractionMicros() {
    if (at >= text.length() || text.charAt(at) != '.') {
      return 0;
    }
    int first = ++at;
    int micros = 0;
    for (; at < text.length() && at - first < 9 && isDigit(text.charAt(at)); at++) {
      micros = at - first < 6 ? micros * 10 + (text.charAt(at) - '0') : micros;
    }
    if (at == first) {
      throw bad();
    }
    for (int i = at - first; i < 6; i++) {
      micros *= 10;
    }
    return micros;
  }

  /** Nothing, Z, +hh, +hhmm or +hh:mm. */
  private int offsetSeconds() {
    if (at >= text.length()) {
      return 0;
    }
    char sign = text.charAt(at++);
    if (sign == 'Z') {
      return 0;
    }
    if (sign != '+' && sign != '-') {
      throw bad();
    }
    int hours = digits(2);
    int minutes = 0;
    if (at < text.length()) {
      at += text.charAt(at) == ':' ? 1 : 0;
      minutes = digits(2);
    }
    if (hours > 18 || minutes > 59) {
      throw bad();
    }
    int seconds = hours * 3600 + minutes * 60;
    return sign == '-' ? -seconds : seconds;
  }

  private int digits(int wanted) {
    int value = 0;
    for (int end = at + wanted; at < end; at++) {
      if (at >= text.length() || !isDigit(text.charAt(at))) {
        throw bad();
      }
      value = value * 10 + (text.charAt(at) - '0');
    }
    return value;
  }

  private void expect(char wanted) {
    if (at >= text.length() || text.charAt(at++) != wanted) {
      throw bad();
    }
  }

  private int ended(int value) {
    return (int) ended((long) value);
  }

  private long ended(long value) {
    if (at != text.length()) {
      throw bad();
    }
    return value;
  }

  private static boolean isDigit(char c) {
    return c >= '0' && c <= '9';
  }

  private Undecodable bad() {
    return Undecodable.notA(type, text);
  }
}
