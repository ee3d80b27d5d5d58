// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Opens a database of the crate `rocksdb` with the memtable `lathwork`, named in a string of options. Argument: a directory.
use rocksdb::{Options, DB};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("argument: a directory")?;
    let mut options = Options::default();
    options.create_if_missing(true);
    let options = options.get_options_from_string("memtable_factory=lathwork")?;
    let db = DB::open(&options, &path)?;
    for i in 0..1000u32 {
        db.put(i.to_be_bytes(), format!("value {i}"))?;
    }
    assert_eq!(db.get(500u32.to_be_bytes())?.as_deref(), Some(&b"value 500"[..]));
    let found = db.iterator(rocksdb::IteratorMode::Start).count();
    let named = std::fs::read_dir(&path)?.filter_map(Result::ok).any(|file| {
        file.file_name().to_string_lossy().starts_with("OPTIONS-")
            && std::fs::read_to_string(file.path()).is_ok_and(|text| text.contains("lathwork"))
    });
    assert!(named, "the OPTIONS file of the database does not name the memtable");
    println!("{found} entries through a memtable lathwork");
    Ok(())
}
