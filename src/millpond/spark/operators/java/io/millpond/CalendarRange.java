package io.millpond;

/** The years 1 to 9999, which is what DATE, TIMESTAMP and TIMESTAMP_LTZ hold: no more is read back by every client. */
final class CalendarRange {
  private static final int FIRST_DAY = -719_162;
  private static final int LAST_DAY = 2_932_896;
  private static final long FIRST_MICROS = FIRST_DAY * DateTimeText.MICROS_PER_DAY;
  private static final long LAST_MICROS = (LAST_DAY + 1L) * DateTimeText.MICROS_PER_DAY - 1;

  private CalendarRange() {}

  /** `days` since 1970-01-01 if they are in range. `given` is what the record has, for the reason. */
  static int days(long days, String type, String given) {
    if (days < FIRST_DAY || days > LAST_DAY) {
      throw Undecodable.notA(type, given);
    }
    return (int) days;
  }

  /** `micros` since 1970-01-01 00:00:00 if they are in range. */
  static long micros(long micros, String type, String given) {
    if (micros < FIRST_MICROS || micros > LAST_MICROS) {
      throw Undecodable.notA(type, given);
    }
    return micros;
  }
}
