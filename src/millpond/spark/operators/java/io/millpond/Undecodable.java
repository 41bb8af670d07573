package io.millpond;

/**
 * Why bytes are not a value of the declared type. No stack trace: bad input may come at full speed. The path to the value
 * inside the record grows from the inside out, as the exception passes the nested readers.
 */
final class Undecodable extends RuntimeException {
  private static final int LONGEST_QUOTE = 64;

  private final String problem;
  private String path = "";

  Undecodable(String problem) {
    super(null, null, false, false);
    this.problem = problem;
  }

  /** "'abc' is not a BIGINT", "'abc' is not an INTEGER". */
  static Undecodable notA(String type, String text) {
    String article = type.startsWith("I") || type.startsWith("A") ? "an " : "a ";
    return new Undecodable(quote(text) + " is not " + article + type);
  }

  static String quote(String text) {
    String cut = text.length() <= LONGEST_QUOTE ? text : text.substring(0, LONGEST_QUOTE) + "...";
    return "'" + cut.replaceAll("\\p{Cntrl}", " ") + "'";
  }

  Undecodable inField(String name) {
    path = path.isEmpty() || path.startsWith("[") ? name + path : name + "->" + path;
    return this;
  }

  Undecodable inElement(Object index) {
    path = "[" + index + "]" + (path.isEmpty() || path.startsWith("[") ? path : "->" + path);
    return this;
  }

  @Override
  public String getMessage() {
    return path.isEmpty() ? problem : "column '" + path + "': " + problem;
  }
}
