package io.millpond.fs;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.DelegateToFileSystem;

/** `spark.hadoop.fs.AbstractFileSystem.file.impl`: the same for code that goes by way of FileContext, as checkpoints do. */
public final class NioLocalFs extends DelegateToFileSystem {
  public NioLocalFs(URI uri, Configuration conf) throws IOException, URISyntaxException {
    super(uri, new NioRawFileSystem(), conf, "file", false);
  }

  @Override
  public int getUriDefaultPort() {
    return -1;
  }

  @Override
  public boolean isValidName(String name) {
    return true;
  }
}
