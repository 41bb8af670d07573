package io.millpond;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.roaringbitmap.longlong.Roaring64Bitmap;

/**
 * Which source records a query had already written to its sink before it was restarted. The bitmaps are filled before the query
 * starts, one per source partition, and only read from then on.
 */
public final class SkipWritten implements Serializable {
  private static final Map<String, Map<Integer, Roaring64Bitmap>> WRITTEN = new ConcurrentHashMap<>();

  private final String queryId;

  SkipWritten(String queryId) {
    this.queryId = queryId;
  }

  /** Adds the offsets of one source partition, each as 8 bytes, big-endian. */
  public static void add(String queryId, int partition, byte[] offsets) {
    Roaring64Bitmap bitmap = new Roaring64Bitmap();
    for (ByteBuffer buffer = ByteBuffer.wrap(offsets); buffer.hasRemaining(); ) {
      bitmap.addLong(buffer.getLong());
    }
    bitmap.runOptimize();
    WRITTEN.computeIfAbsent(queryId, id -> new ConcurrentHashMap<>()).merge(partition, bitmap, SkipWritten::union);
  }

  private static Roaring64Bitmap union(Roaring64Bitmap one, Roaring64Bitmap other) {
    other.or(one);
    return other;
  }

  /** Forgets the offsets of a query: then none of its records is skipped. */
  public static void clear(String queryId) {
    WRITTEN.remove(queryId);
  }

  public boolean notWritten(int partition, long offset) {
    Map<Integer, Roaring64Bitmap> partitions = WRITTEN.get(queryId);
    Roaring64Bitmap written = partitions == null ? null : partitions.get(partition);
    return written == null || !written.contains(offset);
  }

  /** What EXPLAIN shows. */
  @Override
  public String toString() {
    return "written by " + queryId;
  }
}
