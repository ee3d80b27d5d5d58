// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// MemtableTest.java - org.rocksdb:rocksdbjni as it is in Maven, with the memtable: put, get, merge of
// families, iterators both ways, against java.util.TreeMap. Argument: liblathwork-rocksdb-java.so.
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.TreeMap;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksIterator;

public class MemtableTest {
    static void expect(boolean what, String name) {
        if (!what) {
            throw new AssertionError(name);
        }
    }

    public static void main(String[] arguments) throws Exception {
        RocksDB.loadLibrary();
        System.load(arguments[0]);
        Properties properties = new Properties();
        properties.setProperty("memtable_factory", "lathwork");
        ColumnFamilyOptions family = ColumnFamilyOptions.getColumnFamilyOptionsFromProps(properties);
        expect(family != null, "the name of the memtable is not known");
        Path directory = Files.createTempDirectory("lath-rocksdb-java");
        Random random = new Random(1);
        TreeMap<String, String> model = new TreeMap<>();
        try (Options options = new Options(new DBOptions().setCreateIfMissing(true), family);
             RocksDB db = RocksDB.open(options, directory.toString())) {
            for (int i = 0; i < 200000; i++) {
                String key = (i % 2 == 0 ? "a common prefix " : "") + random.nextInt(50000);
                if (random.nextInt(10) == 0) {
                    db.delete(key.getBytes(StandardCharsets.UTF_8));
                    model.remove(key);
                } else {
                    db.put(key.getBytes(StandardCharsets.UTF_8), Integer.toString(i).getBytes(StandardCharsets.UTF_8));
                    model.put(key, Integer.toString(i));
                }
            }
            for (int i = 0; i < 50000; i++) {
                String key = Integer.toString(i), value = model.get(key);
                byte[] found = db.get(key.getBytes(StandardCharsets.UTF_8));
                expect(value == null ? found == null : Arrays.equals(found, value.getBytes(StandardCharsets.UTF_8)), "get " + key);
            }
            try (RocksIterator it = db.newIterator()) {
                it.seekToFirst();
                for (Map.Entry<String, String> entry : model.entrySet()) {
                    expect(it.isValid() && new String(it.key(), StandardCharsets.UTF_8).equals(entry.getKey()), "next");
                    it.next();
                }
                expect(!it.isValid(), "end");
                it.seekToLast();
                for (String key : model.descendingKeySet()) {
                    expect(it.isValid() && new String(it.key(), StandardCharsets.UTF_8).equals(key), "prev");
                    it.prev();
                }
            }
        }
        boolean named = false;
        try (var files = Files.list(directory)) {
            for (Path file : (Iterable<Path>) files::iterator) {
                named |= file.getFileName().toString().startsWith("OPTIONS-") && Files.readString(file).contains("memtable_factory=lathwork");
            }
        }
        expect(named, "the database's options do not name the memtable");
        RocksDB.destroyDB(directory.toString(), new Options());
        System.out.println("1 passed, 0 failed");
    }
}
