package io.millpond;

/** A cursor over one line of delimited text (RFC 4180), field by field. */
final class DelimitedLine {
  private final String line;
  private final char delimiter;
  private int at = -1;

  DelimitedLine(String line, char delimiter) {
    this.line = line;
    this.delimiter = delimiter;
  }

  /** Whether there is a further field; a line has one at least. */
  boolean hasNext() {
    return at < 0 || at < line.length() && line.charAt(at) == delimiter;
  }

  /**
   * The next field without its quotes; null for an empty one that has none.
   *
   * @throws Undecodable for a quote that is not closed
   */
  String next() {
    at++;
    if (at < line.length() && line.charAt(at) == '"') {
      return quoted();
    }
    int from = at;
    while (at < line.length() && !endsField(line.charAt(at))) {
      at++;
    }
    return at == from ? null : line.substring(from, at);
  }

  /** One line break may be left. */
  void requireEnd() {
    String rest = line.substring(at);
    if (rest.isEmpty() || rest.equals("\n") || rest.equals("\r\n") || rest.equals("\r")) {
      return;
    }
    boolean more = rest.charAt(0) == '\r' || rest.charAt(0) == '\n';
    throw bad(more ? "it has more than one line" : "more follows a closing quote");
  }

  /** Blanks behind the closing quote are passed over. */
  private String quoted() {
    StringBuilder field = new StringBuilder();
    int from = at + 1;
    while (true) {
      int quote = line.indexOf('"', from);
      if (quote < 0) {
        throw bad("a quote is not closed");
      }
      field.append(line, from, quote);
      at = quote + 1;
      if (at >= line.length() || line.charAt(at) != '"') {
        break;
      }
      field.append('"');
      from = at + 1;
    }
    while (at < line.length() && isBlank(line.charAt(at))) {
      at++;
    }
    return field.toString();
  }

  private boolean endsField(char c) {
    return c == delimiter || c == '\r' || c == '\n';
  }

  private boolean isBlank(char c) {
    return c != delimiter && (c == ' ' || c == '\t');
  }

  private static Undecodable bad(String why) {
    return new Undecodable("not a delimited record: " + why);
  }
}
