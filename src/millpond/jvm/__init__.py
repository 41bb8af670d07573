"""The parts that run on the JVM: fetched by pyspark's own Ivy, compiled by javac, found by `locate`."""
