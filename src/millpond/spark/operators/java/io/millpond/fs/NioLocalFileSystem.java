package io.millpond.fs;

import org.apache.hadoop.fs.LocalFileSystem;

/**
 * `spark.hadoop.fs.file.impl`: the local file system on `NioRawFileSystem`, without `.crc` twins. A LocalFileSystem, because
 * RocksDB's upload casts to it.
 */
public final class NioLocalFileSystem extends LocalFileSystem {
  public NioLocalFileSystem() {
    super(new NioRawFileSystem());
    setWriteChecksum(false);
    setVerifyChecksum(false);
  }
}
