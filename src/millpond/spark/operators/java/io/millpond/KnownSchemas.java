package io.millpond;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/**
 * What was made of the schemas of registries, each once in the life of the JVM. Of one that cannot be used the reason is kept for a
 * while, so that it is not asked for again with every record: stray bytes look like ids, too.
 */
final class KnownSchemas<T> {
  private static final long ASK_AGAIN_NANOS = 30_000_000_000L;

  /** Why nothing could be made of a schema, and when. */
  private record Unusable(String reason, long at) {
    boolean isOver() {
      return System.nanoTime() - at >= ASK_AGAIN_NANOS;
    }
  }

  private final Map<String, T> made = new ConcurrentHashMap<>();
  private final Map<String, Unusable> unusable = new ConcurrentHashMap<>();

  /**
   * What `make` makes of the schema of that id; Undecodable, if it throws that, counts as an answer.
   *
   * @throws Undecodable if the schema cannot be used
   */
  T get(SchemaRegistry registry, int id, Supplier<T> make) {
    String key = registry.address() + " " + id;
    T known = made.get(key);
    if (known != null) {
      return known;
    }
    Unusable before = unusable.get(key);
    if (before != null && !before.isOver()) {
      throw new Undecodable(before.reason);
    }
    try {
      known = make.get();
    } catch (Undecodable e) {
      unusable.values().removeIf(Unusable::isOver);
      unusable.put(key, new Unusable(e.getMessage(), System.nanoTime()));
      throw e;
    }
    made.put(key, known);
    return known;
  }
}
